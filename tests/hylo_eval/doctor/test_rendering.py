"""Rendering is judged by the picture that came out."""

import json
import os

import pytest

from hylo_eval.child import ChildOutcome
from hylo_eval.doctor.rendering import Frame, read_frame, rendering_finding, try_backend, try_backends

RIGHT = {"middle": [250, 10, 10], "corner": [0, 0, 0], "device": "llvmpipe (LLVM 15)", "seconds": 0.004}


def child(stdout: str, returncode: int | None = 0, stderr: str = "") -> ChildOutcome:
    return ChildOutcome(returncode=returncode, stdout=stdout, stderr=stderr, seconds=1.0)


def test_a_red_ball_on_black_is_right():
    """The device and the time are kept."""
    frame = read_frame("egl", child("a driver says hello\n" + json.dumps(RIGHT)))
    assert frame == Frame(backend="egl", device="llvmpipe (LLVM 15)", seconds=0.004)


@pytest.mark.parametrize(
    ("stdout", "problem"),
    [
        (json.dumps(RIGHT | {"middle": [0, 0, 0]}), "of one colour"),
        (json.dumps(RIGHT | {"corner": [250, 10, 10]}), "of one colour"),
        (json.dumps(RIGHT | {"middle": [10, 10, 250]}), "does not show the red ball"),
        (json.dumps(RIGHT | {"corner": [250, 0, 0]}), "does not show the red ball"),
        ("", "something else"),
        ("[1]", "something else"),
        ('{"middle": "red"}', "something else"),
    ],
)
def test_a_wrong_picture_is_a_problem(stdout, problem):
    """A constant, swapped or absent picture does not pass for rendering."""
    assert problem in read_frame("egl", child(stdout)).problem


def test_a_missing_library_is_named_as_such():
    """PyOpenGL's words for it help nobody."""
    stderr = "AttributeError: 'NoneType' object has no attribute 'glGetError'"
    assert read_frame("osmesa", child("", 1, stderr)).problem == "its library is not installed"


EGL = Frame(backend="egl", device="llvmpipe", seconds=0.001)
BAD_EGL = Frame(backend="egl", problem="its library is not installed")
OSMESA = Frame(backend="osmesa", device="softpipe", seconds=0.002)
UNSET = Frame(backend="", device="NVIDIA H200/PCIe/SSE2", seconds=0.001)
BAD_UNSET = Frame(backend="", problem="no display")
BAD_OSMESA = Frame(backend="osmesa", problem="its library is not installed")
GPU = Frame(backend="egl", device="NVIDIA H200/PCIe/SSE2", seconds=0.001)


@pytest.mark.parametrize(
    ("frames", "context", "outcome", "fix"),
    [
        ((EGL,), {"chosen": "egl"}, "ok", ""),
        ((GPU,), {"chosen": "egl", "gpu": True}, "ok", ""),
        ((EGL,), {"chosen": "egl", "gpu": True}, "warning", "NVIDIA_DRIVER_CAPABILITIES=all"),
        ((UNSET,), {}, "ok", ""),
        ((BAD_UNSET, EGL), {}, "warning", "export MUJOCO_GL=egl"),
        ((BAD_UNSET, BAD_EGL, OSMESA), {}, "warning", "export MUJOCO_GL=osmesa, or apt-get install -y libegl1"),
        ((BAD_UNSET, BAD_EGL, BAD_OSMESA), {}, "broken", "apt-get install -y libegl1"),
        ((BAD_EGL, OSMESA), {}, "warning", "export MUJOCO_GL=osmesa, or apt-get install -y libegl1"),
        ((BAD_EGL, OSMESA), {"chosen": "egl"}, "broken", "export MUJOCO_GL=osmesa, or apt-get"),
        ((BAD_OSMESA, EGL), {"chosen": "osmesa"}, "broken", "export MUJOCO_GL=egl, or apt-get install -y libosmesa6"),
        ((Frame(backend="glfw", problem="no display"), EGL), {"chosen": "glfw"}, "broken", "export MUJOCO_GL=egl"),
        ((BAD_EGL, BAD_OSMESA), {}, "broken", "apt-get install -y libegl1"),
    ],
)
def test_findings_say_what_to_do(frames, context, outcome, fix):
    """What somebody chose must work; otherwise one of the two must."""
    finding = rendering_finding(frames, **context)
    assert finding.outcome == outcome
    assert fix in finding.fix
    assert bool(fix) is bool(finding.fix)


@pytest.mark.parametrize(
    ("frames", "chosen", "told"),
    [
        ((EGL,), "egl", "MUJOCO_GL=egl draws"),
        ((UNSET,), "", "with MUJOCO_GL not set"),
        (
            (BAD_UNSET, EGL),
            "",
            "MUJOCO_GL=egl draws (llvmpipe, on the CPU; 1 ms for a small picture); it is not set here",
        ),
    ],
)
def test_a_finding_says_under_which_setting_the_picture_was_drawn(frames, chosen, told):
    """What draws only where a variable is set does not draw in the next run without it."""
    assert told in rendering_finding(frames, chosen=chosen).text


def test_what_a_run_would_draw_with_is_tried_first(monkeypatch):
    """Nothing is set, so MuJoCo's own default comes before the backends that need no display."""
    asked = []

    def fail(command, *, deadline_seconds, environment):
        asked.append(environment.get("MUJOCO_GL"))
        return child("", 1)

    monkeypatch.setattr("hylo_eval.doctor.rendering.run_child", fail)
    assert [frame.backend for frame in try_backends({"PATH": "/bin"})] == ["", "egl", "osmesa"]
    assert asked == [None, "egl", "osmesa"]


def test_a_backend_that_does_not_exist_is_a_problem():
    """The child fails, with MuJoCo's own sentence."""
    pytest.importorskip("mujoco")
    assert "MUJOCO_GL" in try_backend("no-such-backend", os.environ).problem
