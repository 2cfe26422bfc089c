"""Measuring tools: one module each, found by name.

A tool turns a case into commands (``plan``) and output into samples (``parse``). A new tool is a
new module here with those two functions and a line in ``TOOLS``.
"""
