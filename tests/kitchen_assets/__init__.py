"""A stand-in for RoboCasa's kitchen assets, which no package carries: boxes that move as the real fixtures do.

``python -m tests.kitchen_assets FOLDER`` writes a whole asset root: the definitions that the installed package carries,
and, made here, flat textures, one layout in one style, fixtures with the joints and regions that the package's code
asks for, and two boxes for every category of objects. Nothing of it resembles a kitchen anyone was trained in, and the
marker file says so: runs on it are labelled.
"""
