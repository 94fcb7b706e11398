"""What holds for every test: a busy machine is no failure, so no example is timed."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
