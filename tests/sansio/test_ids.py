"""Secrets show themselves to nobody, and what is minted from entropy can be repeated but not guessed."""

from __future__ import annotations

import hashlib
import hmac
import re
import traceback

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import Digest, Entropy, Secret, same_digest

TOKEN = "a-resume-token-that-nobody-may-read"


@attrs.frozen
class Offer:
    """A value that carries a secret, as inputs and effects do."""

    token: Secret


class CountComparisons:
    """Stands before `hmac.compare_digest` and remembers what that was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, bytes]] = []
        self._compare = hmac.compare_digest

    def __call__(self, left: bytes, right: bytes) -> bool:
        self.asked.append((left, right))
        return self._compare(left, right)


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> CountComparisons:
    counter = CountComparisons()
    monkeypatch.setattr(hmac, "compare_digest", counter)
    return counter


def raise_with(offer: Offer) -> None:
    raise ValueError(f"unusable: {offer} {offer.token!r} {offer.token}")


@pytest.mark.rule("Q11b")
def test_a_secret_is_in_no_text_that_is_made_of_it() -> None:
    secret = Secret(TOKEN)
    texts = [
        repr(secret),
        str(secret),
        f"{secret}",
        repr(Offer(secret)),
        repr({secret: [secret]}),
    ]
    assert not [text for text in texts if TOKEN in text]


@pytest.mark.rule("Q11b")
def test_a_secret_is_in_no_traceback() -> None:
    with pytest.raises(ValueError, match=re.escape("unusable: Offer(token=Secret(...))")) as caught:
        raise_with(Offer(Secret(TOKEN)))
    assert TOKEN not in "".join(traceback.format_exception(caught.value))


def test_a_secret_is_revealed_only_on_request() -> None:
    assert Secret(TOKEN).reveal() == TOKEN


@pytest.mark.rule("Q11a")
@pytest.mark.parametrize("other", [TOKEN + "x", TOKEN[:-1], TOKEN.upper(), ""])
def test_secrets_are_equal_if_and_only_if_their_texts_are(other: str) -> None:
    assert Secret(TOKEN) == Secret(TOKEN)
    assert Secret(TOKEN) != Secret(other)


@pytest.mark.rule("Q11a")
def test_secrets_are_compared_in_constant_time_and_by_digests_of_one_length(comparisons: CountComparisons) -> None:
    assert Secret(TOKEN) != Secret("x")
    [(left, right)] = comparisons.asked
    assert (left, right) == (hashlib.sha256(TOKEN.encode()).digest(), hashlib.sha256(b"x").digest())


@pytest.mark.parametrize("other", [TOKEN, TOKEN.encode(), None, 0])
def test_a_secret_equals_nothing_that_is_not_a_secret(other: object) -> None:
    assert (Secret(TOKEN) == other) is False
    assert (other == Secret(TOKEN)) is False


def test_a_secret_finds_itself_in_a_table() -> None:
    table = {Secret(TOKEN): "found"}
    assert table[Secret(TOKEN)] == "found"
    assert Secret("another") not in table


def test_a_secret_cannot_be_changed() -> None:
    secret = Secret(TOKEN)
    with pytest.raises(attrs.exceptions.FrozenInstanceError, match=r"\Acan't set attribute\Z"):
        secret._value = "another"  # type: ignore[misc]  # that it is forbidden is what is tested
    assert secret.reveal() == TOKEN


def test_what_is_stored_of_a_secret_is_its_sha_256() -> None:
    assert Secret(TOKEN).digest() == hashlib.sha256(TOKEN.encode()).digest()


def test_text_that_is_no_valid_unicode_has_a_digest_of_its_own() -> None:
    assert len({Secret("\ud800").digest(), Secret("\udfff").digest(), Secret("?").digest()}) == 3


@pytest.mark.rule("Q11a")
def test_digests_are_compared_in_constant_time(comparisons: CountComparisons) -> None:
    left, right = Secret("left").digest(), Secret("right").digest()
    assert same_digest(left, Digest(bytes(left)))
    assert not same_digest(left, right)
    assert comparisons.asked == [(left, left), (left, right)]


SEEDS = st.binary(min_size=16, max_size=64)


@given(seed=SEEDS, label=st.text(st.characters(codec="utf-8")))
def test_the_same_entropy_and_label_give_the_same_name(seed: bytes, label: str) -> None:
    assert Entropy(seed).derive(label) == Entropy(seed).derive(label)


@given(seed=SEEDS, labels=st.lists(st.text(st.characters(codec="utf-8")), min_size=2, unique=True))
def test_each_label_gives_another_name(seed: bytes, labels: list[str]) -> None:
    entropy = Entropy(seed)
    assert len({entropy.derive(label) for label in labels}) == len(labels)


@given(seeds=st.lists(SEEDS, min_size=2, unique_by=lambda seed: seed.rstrip(b"\0")))
def test_each_input_gives_other_names(seeds: list[bytes]) -> None:
    assert len({Entropy(seed).derive("stream") for seed in seeds}) == len(seeds)


@pytest.mark.rule("Q11a")
@given(seed=SEEDS)
def test_a_name_has_256_bits_and_may_stand_in_a_header(seed: bytes) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", Entropy(seed).derive("token"))


@pytest.mark.rule("Q11a")
@pytest.mark.parametrize("seed", [b"", bytes(15), "x" * 32, None], ids=repr)
def test_what_could_be_guessed_is_no_seed(seed: object) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aa seed is made of at least 16 bytes\Z"):
        Entropy(seed)  # type: ignore[arg-type]  # what a caller without a type checker may pass


@pytest.mark.rule("Q11b")
def test_entropy_does_not_show_what_it_would_make() -> None:
    entropy = Entropy(b"a seed that would tell every token")
    assert (repr(entropy), str(entropy)) == ("Entropy(...)", "Entropy(...)")
