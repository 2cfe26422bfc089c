"""The site: the folder in which a user runs the suite, and what pytest has to know of it."""
