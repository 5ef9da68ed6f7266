"""What the tests of the verdict layer share."""

from hypothesis import settings

# A busy machine is no reason to fail: what must end is ended by the deadlines under test.
settings.register_profile("verdict", deadline=None)
settings.load_profile("verdict")
