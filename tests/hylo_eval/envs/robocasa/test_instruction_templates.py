"""Templates read from the source of a task's ``get_ep_meta``."""

from hylo_core.instruction import matches_instruction
from hylo_eval.envs.robocasa.instruction_templates import UNKNOWN, template_of


class Base:
    """Says nothing."""

    def get_ep_meta(self):
        return {}


class Plain(Base):
    """One text."""

    def get_ep_meta(self):
        meta = super().get_ep_meta()
        meta["lang"] = "Turn {it} on."
        return meta


class Worded(Base):
    """One text with values."""

    def get_ep_meta(self):
        meta = super().get_ep_meta()
        meta["lang"] = f"{self.behavior.capitalize()} the {self.fixture.nat_lang} of the {self.get_obj_lang('cup')}."
        return meta


class Branched(Base):
    """Two texts."""

    def get_ep_meta(self):
        meta = super().get_ep_meta()
        if self.on:
            meta["lang"] = "Turn it on."
        else:
            meta["lang"] = "Turn it off."
        return meta


class Extended(Plain):
    """One text and more of it."""

    def get_ep_meta(self):
        meta = super().get_ep_meta()
        meta["lang"] += " Then wait."
        return meta


class Reworded(Base):
    """One text, and one that is sampled where a setting asks for it."""

    def get_ep_meta(self):
        meta = super().get_ep_meta()
        if self.novel_instructions is not None:
            meta["lang"] = self.rng.choice(self.novel_instructions)
        else:
            meta["lang"] = "Wash the lettuce."
        return meta


def test_a_plain_text_is_its_own_template_with_braces_kept():
    """A brace in the text is no field."""
    assert template_of(Plain) == "Turn {{it}} on."
    assert matches_instruction(template_of(Plain), "Turn {it} on.")


def test_values_become_fields_named_after_what_they_are():
    """The attribute, the fixture, the object."""
    assert template_of(Worded) == "{behavior} the {fixture} of the {cup}."
    assert matches_instruction(template_of(Worded), "Open the door of the red cup.")


def test_a_subclass_that_says_nothing_has_its_base_class_s_template():
    """The method that runs is the one that is read."""
    assert template_of(type("Child", (Worded,), {})) == template_of(Worded)


def test_wording_with_branches_or_in_steps_is_one_field():
    """It says that the text is known after the reset, and nothing else."""
    assert template_of(Branched) == UNKNOWN
    assert template_of(Base) == UNKNOWN


def test_the_wording_of_another_setting_does_not_count():
    """Hylo leaves the sampled wording off."""
    assert template_of(Reworded) == "Wash the lettuce."
