"""Commands to paste."""

from hylo_eval import installing
from hylo_eval.installing import install_command


def test_the_install_command_quotes_for_a_shell_and_names_this_python(monkeypatch):
    """It can be pasted as it stands, and installs for the interpreter that said it."""
    monkeypatch.setattr(installing.shutil, "which", lambda _: None)
    monkeypatch.setattr(installing.sys, "executable", "/opt/my env/bin/python")
    assert install_command("mujoco>=3.3,<3.10") == "'/opt/my env/bin/python' -m pip install 'mujoco>=3.3,<3.10'"
    monkeypatch.setattr(installing.shutil, "which", lambda _: "/opt/my env/bin/python")
    assert install_command("rich") == "python -m pip install rich"


def test_the_install_command_for_another_interpreter_names_that_one():
    """Whatever ``python`` is here."""
    assert install_command("rich", python="/opt/other/bin/python") == "/opt/other/bin/python -m pip install rich"
