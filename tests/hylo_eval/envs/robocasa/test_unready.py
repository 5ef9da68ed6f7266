"""A RoboCasa that lacks something: an environment that is known, and refuses every reset with the fix."""

import pytest

from hylo_eval.agents.protocol import meet_env
from hylo_eval.agents.robocasa_scripted import RobocasaScripted
from hylo_eval.envs.conformance import check_env
from hylo_eval.envs.robocasa.factory import make_robocasa_env
from hylo_eval.envs.robocasa.specs import env_spec
from hylo_eval.errors import EnvError, EnvUnready
from tests.hylo_eval.envs.robocasa.conftest import kitchen_task, reset

NAVIGATE = kitchen_task("NavigateKitchen")


def lack_assets(packages):
    """The bare wheel."""


def lack_objects(packages):
    """Everything but a registry."""
    for name in ("textures", "fixtures/sinks", "fixtures/stoves", "objects/objaverse/apple"):
        (packages / "robocasa/models/assets" / name).mkdir(parents=True)


def lack_robosuite(packages):
    """Another package under the same import name."""
    (packages / "robosuite/environments/base.py").write_text("def __init__(self): ...\n")


@pytest.mark.parametrize(
    ("lack", "message", "fix"),
    [
        (lack_assets, "without its kitchen assets", "-m robocasa.scripts.download_kitchen_assets; or"),
        (lack_objects, "registry 'lightwheel' are missing", "download_kitchen_assets --type objs_lw"),
        (lack_robosuite, "is not the one RoboCasa needs", "pip uninstall -y robosuite praxis-robosuite && "),
    ],
)
def test_every_reset_says_what_is_missing_and_how_to_get_it(packages, lack, message, fix):
    """What agents and filters are held against is there nevertheless, so that a run begins and abstains."""
    lack(packages)
    env = make_robocasa_env(NAVIGATE, privileged=True)
    assert env.env_spec == env_spec("mobile", None, "upright", privileged=True)
    assert env.action_space.shape == (12,)
    assert set(env.observation_space.spaces) == {state.name for state in env.env_spec.state}
    meet_env(RobocasaScripted(), env.env_spec)
    for _ in range(2):
        with pytest.raises(EnvUnready, match=message) as error:
            reset(env, NAVIGATE)
        assert fix in error.value.fix
    with pytest.raises(EnvUnready, match=message):
        env.step(env.action_space.sample())
    env.close()


def test_it_breaks_no_contract_that_could_be_checked(packages):
    """What is missing is said once, and not as the finding of every rule."""
    with pytest.raises(EnvUnready, match="without its kitchen assets"):
        check_env(make_robocasa_env, NAVIGATE)


def test_a_folder_that_is_not_there_is_a_mistake_and_nothing_missing(packages):
    """The option is refused before anything runs."""
    with pytest.raises(EnvError, match="there is no folder of assets") as error:
        make_robocasa_env(NAVIGATE, assets="/nowhere")
    assert not isinstance(error.value, EnvUnready)


def test_the_assets_of_an_unready_environment_are_told_where_they_are_there(packages):
    """So that episodes of other tasks in the same run are of the same versions."""
    lack_objects(packages)
    assert make_robocasa_env(NAVIGATE).versions["robocasa-assets"].startswith("sha256:")
