"""LIBERO: 130 manipulation tasks in five suites, on MuJoCo through robosuite.

Importing this package imports no simulator. What is where:

* ``suites``: the published protocol (horizons, settling, control rate) and the versions known to be good;
* ``installation``: finds whatever package provides ``import libero`` and imports it without its questions;
* ``init_states``, ``array_pickle``, ``bddl``: read the benchmark's own files, running nothing that stands in them;
* ``simulation``: the robosuite environment, reset as a pure function of its arguments;
* ``goal``: the goal expression, evaluated beside the simulator's own check;
* ``env``, ``specs``, ``factory``: the environment as the harness sees it;
* ``fingerprint``: recorded scenes that show when the simulator is another one;
* ``freeze``: writes the benchmarks from an installed package.
"""

from hylo_eval.envs.libero.factory import make_libero_env

LiberoFactory = make_libero_env
"""The factory under the name every family gives its own."""

__all__ = ["LiberoFactory", "make_libero_env"]
