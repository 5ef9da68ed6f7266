"""Questions about pictures: one step, and the action is the text of a response.

* ``scene``: tabletop scenes as records, with the boxes, centres and ends of what lies on the table;
* ``drawing``: paints a scene with numpy alone, the same bits on every machine;
* ``files``: picture files beside a benchmark file, known by their SHA-256;
* ``env``: the environment. It asks and records; it does not judge.
"""

from hylo_eval.envs.response.env import ResponseEnv

__all__ = ["ResponseEnv"]
