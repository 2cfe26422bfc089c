"""Properties are judged by what they show, not by how fast a busy machine shows it."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
