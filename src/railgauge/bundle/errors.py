"""What can be wrong with a bundle: it is none, or it is one and does not hold."""

from __future__ import annotations

from railgauge.core.errors import BadInput, RailgaugeError


class BadBundle(BadInput):
    """The file is no bundle, or one that nobody should open."""

    kind = "bundle"


class NotVerified(RailgaugeError):
    """A bundle whose content is not what its statement, its limits or its verdict say.

    ``where`` is the file at fault.
    """

    kind = "not-verified"
