"""Rendering is judged by the picture that came out."""

import json
import os

import pytest

from hylo_eval.child import ChildOutcome
from hylo_eval.doctor.rendering import Frame, read_frame, rendering_finding, try_backend

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
BAD_OSMESA = Frame(backend="osmesa", problem="its library is not installed")
GPU = Frame(backend="egl", device="NVIDIA H200/PCIe/SSE2", seconds=0.001)


@pytest.mark.parametrize(
    ("frames", "context", "outcome", "fix"),
    [
        ((EGL,), {}, "ok", ""),
        ((GPU,), {"gpu": True}, "ok", ""),
        ((EGL,), {"gpu": True}, "warning", "NVIDIA_DRIVER_CAPABILITIES=all"),
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


def test_a_backend_that_does_not_exist_is_a_problem():
    """The child fails, with MuJoCo's own sentence."""
    pytest.importorskip("mujoco")
    assert "MUJOCO_GL" in try_backend("no-such-backend", os.environ).problem
