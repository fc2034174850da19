"""An untested torch-mlir is named, once, with what to install instead."""

from __future__ import annotations

import warnings

import pytest

from pcg.ir import version


def test_the_tested_version_is_silent():
    assert version.message(version.TESTED[0]) is None


def test_another_version_is_named():
    text = version.message("20270101")
    assert text == "torch-mlir 20270101 is untested; pcg is tested on 20261001 only: pip install torch-mlir==20261001"
    assert "is not installed as a package" in (version.message(None) or "")


def test_it_warns_once(monkeypatch):
    monkeypatch.setattr(version, "TESTED", ("19990101",))
    version.warn_if_untested.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="is untested; pcg is tested on 19990101 only"):
            version.warn_if_untested()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            version.warn_if_untested()
    finally:
        version.warn_if_untested.cache_clear()


def test_a_glance_agrees_with_the_metadata():
    assert version._tested_at_a_glance() == (version.torch_mlir_version() in version.TESTED)
