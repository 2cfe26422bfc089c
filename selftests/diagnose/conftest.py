"""What the tests of the diagnosis share."""

from hypothesis import settings

# Properties are judged by what they show, not by how fast a busy machine shows it.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
