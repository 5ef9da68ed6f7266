"""RoboCasa: kitchen tasks of a mobile manipulator, sampled procedurally, on MuJoCo through robosuite 1.5.

Importing this package imports no simulator. What is where:

* ``catalogue``: tasks, task sets, kitchens and splits, without the simulator; ``cataloguing`` and
  ``instruction_templates`` write its data from the installed package;
* ``settings``: what a TaskSpec of this family holds;
* ``installation``, ``assets``: finds the package, its robosuite and its kitchen assets, and says which these are;
* ``simulation``: the package's environment, reset as a pure function of its arguments;
* ``snapshots``: the scene of an episode as JSON, to be set up again;
* ``env``, ``specs``, ``targets``, ``factory``: the environment as the harness sees it;
* ``freeze``: writes the benchmarks.
"""

from hylo_eval.envs.robocasa.factory import make_robocasa_env

RobocasaFactory = make_robocasa_env
"""The factory under the name every family gives its own."""

__all__ = ["RobocasaFactory", "make_robocasa_env"]
