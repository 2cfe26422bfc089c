"""From outcomes to the verdict of a run."""
