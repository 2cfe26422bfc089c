"""The embedded lab: a simulated cluster, reached over SSH like a real one.

One child process serves every node on the loopback network. A node is a folder with its own
executables, which print the figures of the platform's document, and its own /sys, /proc and /etc.
No code outside this package knows that a node is simulated. ``cluster`` starts a lab.
"""
