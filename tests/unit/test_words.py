"""Random words of many keys, and what draws make of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.resampling.bank import replicate_keys
from jaxci.resampling.words import exponentials, random_words, scaled_words, split_mix, wide_words

WORDS = np.concatenate(
    [
        np.array([0, 1, 2, 0xFFFF, 0x10000, 0x10001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]),
        np.random.default_rng(1).integers(0, 2**32, 2000),
    ]
).astype(np.uint32)

KEYS = replicate_keys(jax.random.key(7), jnp.arange(50, dtype=jnp.int32))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["cpu", "accelerator", None])
@pytest.mark.parametrize("size", [1, 257])
@pytest.mark.parametrize("x64", [True, False])
def test_words_are_those_of_jax(size, x64, form):
    with jax.enable_x64(x64):
        expected = jax.vmap(lambda key: jax.random.bits(key, (size,), jnp.uint32))(KEYS)
        found = jax.jit(random_words, static_argnames=("size", "form"))(KEYS, size, form)
    assert found.dtype == jnp.uint32
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", ["cpu", "accelerator", None])
def test_wide_words_are_those_of_jax(form):
    with jax.enable_x64(True):
        expected = jax.vmap(lambda key: jax.random.bits(key, (19,), jnp.uint64))(KEYS)
        found = jax.jit(wide_words, static_argnames=("size", "form"))(KEYS, 19, form)
    assert found.dtype == jnp.uint64
    np.testing.assert_array_equal(found, expected)


def test_split_mix_gives_the_published_sequence():
    with jax.enable_x64(True):
        found = np.asarray(split_mix(jnp.uint64(1234567), jnp.arange(1, 6)))
    assert found.tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_words_of_keys_of_another_kind_are_those_of_jax():
    keys = jax.random.split(jax.random.key(3, impl="rbg"), 5)
    expected = jax.vmap(lambda key: jax.random.bits(key, (9,), jnp.uint32))(keys)
    np.testing.assert_array_equal(random_words(keys, 9), expected)


def test_words_follow_the_setting_of_jax():
    with jax.threefry_partitionable(False):
        other = jax.vmap(lambda key: jax.random.bits(key, (9,), jnp.uint32))(KEYS)
        np.testing.assert_array_equal(random_words(KEYS, 9), other)
    assert not np.array_equal(random_words(KEYS, 9), other)


def test_exponential_variates_are_those_of_jax():
    expected = jax.vmap(lambda key: jax.random.exponential(key, (40,), jnp.float32))(KEYS)
    np.testing.assert_array_equal(exponentials(KEYS, 40), expected)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 250, 65_535, 65_536, 65_537, 10_000_000, 2**31 - 1])
@pytest.mark.parametrize("x64", [True, False])
def test_scaled_words_are_the_high_half_of_the_product(n, x64):
    with jax.enable_x64(x64):
        got = np.asarray(scaled_words(jnp.asarray(WORDS), jnp.asarray(n, jnp.int32)))
    assert got.dtype == np.int32
    assert got.tolist() == [(int(word) * n) >> 32 for word in WORDS]


@pytest.mark.slow
def test_scaled_words_take_one_size_a_word():
    sizes = np.resize(np.array([1, 5, 65_537, 2**31 - 1], np.int32), len(WORDS))
    got = np.asarray(scaled_words(jnp.asarray(WORDS), jnp.asarray(sizes)))
    assert got.tolist() == [(int(word) * int(n)) >> 32 for word, n in zip(WORDS, sizes, strict=True)]
