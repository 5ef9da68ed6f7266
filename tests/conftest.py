"""Shared by all tests: which of them run where."""

from hypothesis import settings

# A busy machine is no reason to fail: no test asserts how long an example takes.
settings.register_profile("hylo", deadline=None)
settings.load_profile("hylo")
