"""RoboCasa: kitchen tasks of a mobile manipulator, sampled procedurally, on MuJoCo through robosuite 1.5.

Importing this package imports no simulator. What is where:

* ``catalogue``: tasks, task sets, kitchens and splits, without the simulator; ``cataloguing`` writes its data;
"""
