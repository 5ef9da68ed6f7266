"""Interpreters of other virtual environments, for families whose packages do not go with those here.

* ``registry``: which family runs in which interpreter, a file of ours;
* ``probe``: what an interpreter says of itself; ``looking``: asking it, and refusing one that cannot serve;
* ``own``: the interpreter that is running, and the Hylo in it;
* ``choosing``: the interpreter of an environment;
* ``creating``: a virtual environment with a family's pins and this Hylo inside (``own_wheel``).
"""
