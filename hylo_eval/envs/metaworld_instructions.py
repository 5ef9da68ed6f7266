"""One sentence for each Meta-World task. The simulator has no texts; these are ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

INSTRUCTIONS: Final[Mapping[str, str]] = {
    "assembly-v3": "put the nut onto the peg",
    "basketball-v3": "drop the ball through the hoop",
    "bin-picking-v3": "move the cube from one bin to the other",
    "box-close-v3": "put the lid on the box",
    "button-press-topdown-v3": "press the button from above",
    "button-press-topdown-wall-v3": "press the button behind the wall from above",
    "button-press-v3": "press the button",
    "button-press-wall-v3": "press the button behind the wall",
    "coffee-button-v3": "press the button of the coffee machine",
    "coffee-pull-v3": "pull the mug away from the coffee machine",
    "coffee-push-v3": "push the mug under the coffee machine",
    "dial-turn-v3": "turn the dial half way round",
    "disassemble-v3": "take the nut off the peg",
    "door-close-v3": "close the door",
    "door-lock-v3": "turn the lock of the door to lock it",
    "door-open-v3": "open the door",
    "door-unlock-v3": "turn the lock of the door to unlock it",
    "drawer-close-v3": "close the drawer",
    "drawer-open-v3": "open the drawer",
    "faucet-close-v3": "turn the faucet off",
    "faucet-open-v3": "turn the faucet on",
    "hammer-v3": "drive the nail in with the hammer",
    "hand-insert-v3": "put the gripper into the hole",
    "handle-press-side-v3": "press the handle down from the side",
    "handle-press-v3": "press the handle down",
    "handle-pull-side-v3": "pull the handle up from the side",
    "handle-pull-v3": "pull the handle up",
    "lever-pull-v3": "pull the lever up",
    "peg-insert-side-v3": "insert the peg into the hole from the side",
    "peg-unplug-side-v3": "pull the peg out to the side",
    "pick-out-of-hole-v3": "lift the puck out of the hole",
    "pick-place-v3": "pick up the puck and hold it at the goal",
    "pick-place-wall-v3": "lift the puck over the wall and hold it at the goal",
    "plate-slide-back-side-v3": "slide the plate out of the cabinet to the side",
    "plate-slide-back-v3": "slide the plate back out of the cabinet",
    "plate-slide-side-v3": "slide the plate sideways into the cabinet",
    "plate-slide-v3": "slide the plate into the cabinet",
    "push-back-v3": "pull the puck back to the goal",
    "push-v3": "push the puck to the goal",
    "push-wall-v3": "push the puck around the wall to the goal",
    "reach-v3": "move the gripper to the goal",
    "reach-wall-v3": "move the gripper past the wall to the goal",
    "shelf-place-v3": "put the puck on the shelf",
    "soccer-v3": "push the ball into the goal",
    "stick-pull-v3": "pull the thermos with the stick",
    "stick-push-v3": "push the thermos with the stick",
    "sweep-into-v3": "sweep the cube into the hole",
    "sweep-v3": "sweep the cube off the table",
    "window-close-v3": "close the window",
    "window-open-v3": "open the window",
}
"""Instruction by task name."""
