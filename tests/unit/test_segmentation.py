"""Measures of masks: definitions, conventions for empty masks, what is refused."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

import jaxci
from jaxci.segmentation import METRICS, cases, joined
from jaxci.segmentation.elements import element_sizes
from jaxci.segmentation.files import Geometry, case_name, images_in, names_of, others_in
from jaxci.segmentation.overlaps import Pair, overlaps

quiet = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


def ball(n=16, centre=None, radius=5.0, d=3):
    centre = [n / 2] * d if centre is None else centre
    return sum((places - c) ** 2 for places, c in zip(np.indices((n,) * d), centre, strict=True)) <= radius**2


def test_sizes_of_surface_elements():
    """A code's size is its complement's, and follows the spacing: flat elements are areas of rectangles."""
    for spacing in ((1.0, 1.0, 1.0), (0.7, 1.3, 2.9)):
        sizes = element_sizes(spacing)
        assert sizes[0] == sizes[255] == 0
        np.testing.assert_allclose(sizes, sizes[::-1], rtol=1e-14)
        for axis, bits in enumerate((0b00001111, 0b00110011, 0b01010101)):
            assert sizes[bits] == pytest.approx(math.prod(spacing) / spacing[axis])
    corner = element_sizes((1.0, 1.0, 1.0))[1]
    assert corner == pytest.approx(math.sqrt(3) / 8)  # a triangle with sides of sqrt(1/2)
    np.testing.assert_allclose(
        element_sizes((3.0, 4.0)), [0, 2.5, 2.5, 4, 2.5, 3, 5, 2.5, 2.5, 5, 3, 2.5, 4, 2.5, 2.5, 0]
    )


@pytest.mark.parametrize("surface", ["elements", "voxels", "faces"])
@pytest.mark.parametrize("d", [2, 3])
def test_equal_masks_and_a_shift(surface, d):
    mask, spacing = ball(d=d), (2.0, 1.0, 0.5)[:d]
    moved = np.roll(mask, 1, axis=0)
    table = cases([mask, moved], [mask, mask], spacing=spacing, tolerance=0.1, surface=surface)
    for name in ("dice", "iou", "boundary_iou", "nsd"):
        assert table[name][0] == 1
        assert 0 < table[name][1] < 1
    for name in ("hd", "hd95", "hd95_pooled", "assd", "masd"):
        assert table[name][0] == 0
        assert 0 < table[name][1] <= 2
    assert table["hd"][1] == pytest.approx(2)
    both, one = np.sum(mask & moved), np.sum(mask)
    assert table["dice"][1] == pytest.approx(both / one)
    assert table["iou"][1] == pytest.approx(both / (2 * one - both))
    assert table["volume_difference"].tolist() == [0, 0]
    assert table["reference_volume"][0] == pytest.approx(one * np.prod(spacing))
    assert not table["empty"].any()
    assert (table.cases, table.labels, len(table)) == ([0, 1], [1], 2)


def test_boundary_iou_by_its_definition():
    """Voxels within the width of the nearest one outside, the end of the image counting as outside."""
    rng = np.random.default_rng(3)
    one, other = (rng.random((9, 11)) < 0.7 for _ in range(2))
    width, spacing = 1.6, np.array([1.0, 1.5])

    def band(mask):
        around = np.pad(mask, 1)
        outside = np.argwhere(~around)
        found = np.zeros_like(around)
        for place in np.argwhere(around):
            found[tuple(place)] = np.linalg.norm((outside - place) * spacing, axis=1).min() <= width
        return found

    bands = band(one), band(other)
    table = cases([one], [other], spacing=spacing, tolerance=1.0, boundary_width=width)
    assert table["boundary_iou"][0] == pytest.approx((bands[0] & bands[1]).sum() / (bands[0] | bands[1]).sum())


def test_labels_of_a_map_and_regions():
    rng = np.random.default_rng(0)
    prediction, reference = rng.integers(0, 4, (2, 3, 10, 10, 10))
    table = cases(prediction, reference, spacing=(1, 1, 1), tolerance=1.0)
    assert table.labels == [1, 2, 3]
    assert len(table) == 9
    for row in range(9):
        case, label = table["case"][row], table["label"][row]
        one, other = prediction[case] == label, reference[case] == label
        assert table["dice"][row] == pytest.approx(2 * np.sum(one & other) / (one.sum() + other.sum()))
        assert table["volume_difference"][row] == int(one.sum()) - int(other.sum())
    regions = cases(
        prediction, reference, spacing=1.0 * np.ones(3), tolerance=1.0, labels={"core": 2, "all": (1, 2, 3)}
    )
    assert regions.labels == ["core", "all"]
    np.testing.assert_array_equal(regions["dice"][::2], table["dice"][1::3])
    apart = cases(prediction > 0, reference > 0, spacing=(1, 1, 1), tolerance=1.0)
    for name in METRICS:
        np.testing.assert_array_equal(regions[name][1::2], apart[name])


def test_overlaps_of_a_batch():
    """Cases of different lengths, codes above 255, and none at all."""
    rng = np.random.default_rng(1)
    pairs = [Pair(*rng.choice([0, 1, 300], (2, n)).astype(np.int32)) for n in (5, 100, 17)]
    codes = np.array([[1, 1], [300, 300], [1, 300]])
    for pair, case in zip(pairs, overlaps(pairs, codes), strict=True):
        for region, found in zip(codes, case, strict=True):
            one, other = (np.isin(side, region) for side in pair)
            assert tuple(found) == (np.sum(one & other), one.sum(), other.sum())
    assert overlaps([], codes) == []


def one_voxel(*places, shape=(4, 6)):
    mask = np.zeros(shape, bool)
    for place in places:
        mask[place] = True
    return mask


@pytest.mark.parametrize("empty", ["worst", "nan"])
def test_empty_masks(empty):
    full, none = one_voxel((1, 1), (1, 2)), one_voxel()
    with pytest.warns(jaxci.JaxciWarning, match="label 1 is empty in both masks of 1 of 4 cases") as told:
        table = cases([full, none, none, full], [full, none, full, none], spacing=(3, 2), tolerance=1, empty=empty)
    assert "in the prediction of 1 of 4 cases" in str(told[0].message)
    assert table["empty"].tolist() == ["", "both", "prediction", "reference"]
    assert np.isnan(table["dice"][1])
    for name in METRICS[:-1]:
        assert np.isnan(table[name][1])  # never scored best
    for name in ("dice", "iou", "boundary_iou", "nsd"):
        assert table[name].tolist()[2:] == [0, 0]
    far = math.hypot(12, 12) if empty == "worst" else math.nan
    for name in ("hd", "hd95", "hd95_pooled", "assd", "masd"):
        np.testing.assert_array_equal(table[name][2:], [far, far])
    np.testing.assert_array_equal(table["volume_difference"][2:], [-12, 12])
    np.testing.assert_array_equal(table["relative_volume_difference"][2:], [-1, np.nan])
    assert "is empty" in str(table)
    assert "prediction" in str(table)


@quiet
def test_a_label_that_a_case_lacks_is_empty_in_both():
    maps = [np.array([[1, 2], [0, 0]]), np.array([[1, 1], [0, 0]])]
    table = cases(maps, maps, spacing=(1, 1), tolerance=1)
    assert table["label"].tolist() == [1, 2, 1, 2]
    assert table["empty"].tolist() == ["", "", "", "both"]
    assert np.isnan(table["dice"][3])


square = one_voxel((1, 1), (1, 2), (2, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"references": [square.T]},
            r"masks of a case must have one shape; case 0 has predictions of \(4, 6\) and ref",
        ),
        ({"spacing": None}, "spacing must be given for arrays: the distance of voxels along each axis"),
        ({"spacing": None, "predictions": square, "references": square}, "spacing must be given for arrays"),
        ({"spacing": (1, 1, 1)}, r"spacing must have a distance for each of 2 axes; got \(1, 1, 1\) for case 0"),
        ({"spacing": (1, -1)}, r"spacing must be positive, from 1e-50 to 1e\+50; got \(1, -1\)"),
        ({"spacing": 1e-300}, r"spacing must be positive, from 1e-50 to 1e\+50; got 1e-300"),
        ({"spacing": (1.0, 1e300)}, r"spacing must be positive, from 1e-50 to 1e\+50; got \(1.0, 1e\+300\)"),
        ({"spacing": np.nan}, "spacing must be positive"),
        ({"spacing": [[1, 1], [1, 1]]}, "spacing must have a row for every case; got 2 rows"),
        ({"predictions": [0 * square], "references": [0 * square]}, "all masks are empty: no prediction and no ref"),
        ({"labels": [7]}, r"all masks are empty: .* of labels \[7\]"),
        ({"labels": [0, 1]}, "labels must be positive whole numbers: 0 is the background; got 0"),
        ({"labels": []}, "labels must hold at least one; got none"),
        ({"predictions": [], "references": []}, "must hold at least one case; got none"),
        ({"predictions": [square] * 2}, "must hold as many cases; predictions go on after 1"),
        ({"predictions": {"a": square}, "references": {"b": square}}, "hold the same cases; 'a' is in one of them"),
        ({"predictions": [0.3 * square]}, "hold 0.3: cut probabilities at a threshold first"),
        ({"predictions": [-1 * square]}, "labels of masks must lie between 0 and 2147483647; predictions .* hold -1"),
        ({"predictions": [square[0]]}, r"masks must have 2 or 3 axes; predictions of case 0 have shape \(6,\)"),
        ({"predictions": [square[:0]]}, r"masks must have voxels; predictions of case 0 have shape \(0, 6\)"),
        ({"predictions": np.zeros((3, 4, 5)), "spacing": 1.0}, "to tell one in 3 dimensions from several in 2"),
        (
            {"predictions": {"a": np.ma.masked_equal(square, 0)}, "references": {"a": square}},
            "predictions of case 'a' must hold no masked values; 21 of 24 values are masked, the first in row 0",
        ),
        (
            {"references": np.ma.masked_array([square] * 2, [0 * square, square]), "predictions": [square] * 2},
            "references of case 1 must hold no masked values; 3 of 24 values are masked, the first in row 1",
        ),
        ({"tolerance": -1}, "tolerance must be at least 0; got -1"),
        ({"boundary_width": 0}, "boundary_width must be positive; got 0"),
        ({"empty": "best"}, "empty must be one of worst, nan, error; got 'best'"),
        ({"surface": "mesh"}, "surface must be one of elements, voxels, faces; got 'mesh'"),
        ({"predictions": [0 * square], "empty": "error"}, "label 1 has no voxel in the prediction of case 0"),
    ],
)
def test_bad_input_gets_one_clear_line(change, message):
    given = {"predictions": [square], "references": [square], "spacing": (1, 1), "tolerance": 1} | change
    with pytest.raises(ValueError, match=message) as told:
        cases(given.pop("predictions"), given.pop("references"), **given)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("predictions", "spacing", "message"),
    [
        ({"a": square}, (1, 1), "must both be dicts"),
        (3, (1, 1), "masks must be arrays, lists of arrays or image files; got 3"),
        ([np.array([["a", "b"]])], (1, 1), "masks must hold labels, whole numbers or booleans; predictions"),
        ([square], "1", "spacing must hold numbers; got '1'"),
    ],
)
def test_bad_types(predictions, spacing, message):
    with pytest.raises(TypeError, match=message):
        cases(predictions, [square], spacing=spacing)


@pytest.mark.parametrize("surface", ["elements", "voxels", "faces"])
def test_scores_do_not_depend_on_the_unit(surface):
    """Distances that equal the tolerance or the width count alike, of single precision (eps 6e-8) and far units too."""
    mask = np.zeros((9, 20), bool)
    mask[2:7, 3:10] = True
    moved = np.roll(mask, 3, axis=1)
    for k in (0.5, 1, 2, 3):
        found = [
            cases([mask], [moved], spacing=(u, 3 * u), tolerance=3 * k * t, boundary_width=3 * k * t, surface=surface)
            for u, t in ((1.0, 1.0), (0.1, 0.1), (0.3, 0.3), (0.7, 0.7), (float(np.float32(0.3)), 0.3), (1e40, 1e40))
        ]
        for name in ("nsd", "boundary_iou"):
            np.testing.assert_allclose([table[name][0] for table in found], found[0][name][0], rtol=1e-7)


def test_a_percentile_that_a_share_of_the_surface_equals_does_not_depend_on_the_unit():
    """Of 20 edges of one length 19, which are 95%, lie within half a voxel: sums of their lengths are rounded."""
    bar = np.zeros((12, 12), bool)
    bar[2:10, 2] = True
    bump = bar.copy()
    bump[2, 3] = True
    for unit in (1.0, 0.1, 0.3, 0.7):
        table = cases([bar], [bump], spacing=unit, tolerance=unit, surface="faces")
        assert table["hd95"][0] == pytest.approx(0.5 * unit)


def test_the_least_and_the_largest_unit_serve_in_three_dimensions():
    mask = ball(8, radius=2)
    for unit in (1e-50, 1e50):
        table = cases([np.roll(mask, 1, axis=0)], [mask], spacing=(unit,) * 3, tolerance=0, surface="elements")
        assert 0 < table["nsd"][0] < 1
        assert table["reference_volume"][0] == pytest.approx(mask.sum() * unit**3)
        assert table["hd"][0] == pytest.approx(unit)


def test_one_case_is_read_at_a_time():
    """A generator is asked for the next mask when the last case is done."""
    mask, read, done = ball(8, radius=2), [], []

    def masks():
        for number in range(4):
            assert len(done) >= number - 1
            read.append(number)
            yield mask

    table = cases(masks(), (mask for _ in range(4)), spacing=(1, 1, 1), tolerance=1, progress=done.append)
    assert done == [1, 2, 3, 4]
    assert len(table) == 4


def test_names_spacing_of_each_case_and_the_default_tolerance():
    mask = ball(12, radius=3, d=2)
    moved = np.roll(mask, 1, axis=1)
    with pytest.warns(jaxci.JaxciWarning, match=r"tolerance of the NSD: one voxel, the largest .* \(from 1 to 2\)"):
        table = cases({"b": mask, "a": mask}, {"a": moved, "b": moved}, spacing=[(1.0, 0.5), (1.0, 2.0)])
    assert table["case"].tolist() == ["b", "a"]
    assert table["hd"].tolist() == [0.5, 2]
    assert table["nsd"].tolist() == [1, 1]


@quiet
def test_the_table():
    mask = ball(8, radius=2, d=2)
    one = cases([mask, mask], [mask, np.roll(mask, 1)], spacing=(1, 1), tolerance=1, labels={"disc": 1})
    told = one.with_columns(patient=["x", "y"], model="a")
    assert told["patient"].tolist() == ["x", "y"]
    both = joined([told, one.with_columns(patient={0: "x", 1: "y"}, model="b")])
    assert both["model"].tolist() == ["a", "a", "b", "b"]
    assert json.loads(json.dumps(both.to_dict()))["columns"]["dice"][0] == 1
    assert both.to_frame()["dice"].tolist() == both["dice"].tolist()
    assert "2 cases, 1 label; surfaces of marching cubes elements" in str(both)
    assert both._repr_html_().count("<tr>") == 5
    with pytest.raises(KeyError, match="did you mean 'dice'"):
        one["Dice"]
    with pytest.raises(ValueError, match="patient must have a value for each of 2 cases or 2 rows"):
        one.with_columns(patient=[1, 2, 3])
    with pytest.raises(ValueError, match="case 1 has none"):
        one.with_columns(patient={0: "x"})
    with pytest.raises(ValueError, match="a column 'dice' of its own"):
        one.with_columns(dice=1)
    with pytest.raises(ValueError, match="the same columns; they differ in 'model'"):
        joined([one, told])


def test_files_without_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "SimpleITK", None)
    (tmp_path / "a.nii.gz").touch()
    with pytest.raises(ImportError, match=r"install jaxci\[images\]"):
        cases([tmp_path / "a.nii.gz"], [tmp_path / "a.nii.gz"], spacing=None)


def test_names_of_files(tmp_path):
    assert [case_name(name) for name in ("x/a.b.nii.gz", "c.seg.nrrd", "d.png")] == ["a.b", "c", "d"]
    with pytest.raises(ValueError, match="holds no image files"):
        images_in(tmp_path)
    for name in ("b.mha", "a.nii.gz", "notes.txt"):
        (tmp_path / name).touch()
    assert list(images_in(tmp_path)) == ["a", "b"]
    (tmp_path / "a.nrrd").touch()
    with pytest.raises(ValueError, match="two images of case 'a'"):
        images_in(tmp_path)


def test_files_of_one_name_are_told_apart_by_their_folders():
    assert names_of(["a/0.png", "b/1.png"]) == ["0", "1"]
    assert names_of(["x/p0/mask.nii.gz", "x/p1/mask.nii.gz"]) == ["p0/mask", "p1/mask"]
    assert names_of(["p0/x/mask.nii.gz", "p1/x/mask.nii.gz"]) == ["p0/x/mask", "p1/x/mask"]
    with pytest.raises(ValueError, match=r"predictions must name every file once; 'a/0' comes again"):
        cases(["a/0.png", "a/0.png"], ["b/0.png", "b/1.png"], spacing=None)


def test_files_in_another_order_are_refused():
    """Paths of a folder come in no order: two lists of the same names are one case after the other."""
    with pytest.raises(ValueError, match=r"in one order: file 0 is '0' of the predictions and '1' of the references"):
        cases((f"a/{k}.png" for k in (0, 1)), (f"b/{k}.png" for k in (1, 0)), spacing=None)


def test_what_is_in_a_folder_besides_images(tmp_path):
    (tmp_path / "case0").mkdir()
    with pytest.raises(ValueError, match=r"holds no image files .*; it has 1 folder, which are not searched"):
        images_in(tmp_path)
    for name in ("a.nii.gz", "b.npy", ".hidden"):
        (tmp_path / name).touch()
    assert others_in(tmp_path) == ["b.npy", "case0"]
    (tmp_path / "c.png").symlink_to(tmp_path / "nothing.png")
    with pytest.raises(ValueError, match=r"c\.png' is a link that leads nowhere"):
        images_in(tmp_path)


def test_models_of_which_one_finds_what_is_not_there():
    """A case that is empty in both masks of one model has no value, and 0 where another raises a false alarm."""
    mask, none = ball(8, radius=2, d=2), np.zeros((8, 8), bool)
    with pytest.warns(jaxci.JaxciWarning, match="empty"):
        right, wrong = (cases([mask, guess], [mask, none], spacing=1.0, tolerance=1.0) for guess in (none, mask))
    told = "1 cases and labels are empty in both masks in some tables, where they have no value, and not in others"
    assert any(text.startswith(told) for text in joined([right, wrong]).remarks)
    assert not any("in some tables" in text for text in joined([right, right]).remarks)
    with pytest.raises(TypeError, match=r"tables must be those of jaxci\.segmentation\.cases; got 1"):
        joined([right, 1])


def test_a_volume_of_one_slice_is_told():
    mask = ball(12, radius=4, d=2)
    with pytest.warns(jaxci.JaxciWarning, match=r"surface on both sides.* \(case 0 of shape \(1, 12, 12\)\)"):
        cases([mask[None]], [mask[None]], spacing=1.0, tolerance=1.0)


def test_labels_that_no_mask_shares_with_its_reference_are_told():
    mask = ball(12, radius=4, d=2).astype(int)
    with pytest.warns(jaxci.JaxciWarning) as told:
        cases([mask], [255 * mask], spacing=1.0, tolerance=1.0)
    assert "predictions and references have no label in common: [1] and [255]" in [str(one.message) for one in told]


def test_grids_of_images():
    one = Geometry((1.0, 2.0), (0.0, 0.0), (1.0, 0.0, 0.0, 1.0))
    assert one.near(one._replace(spacing=(1.0, 2.0001)))
    assert not one.near(one._replace(origin=(0.1, 0.0)))
    assert not one.near(one._replace(spacing=(1.0, 2.0, 3.0)))
    assert "spacing (1, 2)" in str(one)


def test_image_files(tmp_path):
    sitk = pytest.importorskip("SimpleITK")
    mask = ball(10, radius=3)
    for folder, array in (("pred", np.roll(mask, 1, axis=0)), ("ref", mask)):
        (tmp_path / folder).mkdir()
        image = sitk.GetImageFromArray(array.astype(np.uint8))
        image.SetSpacing((0.5, 1.0, 4.0))  # x, y, z
        sitk.WriteImage(image, str(tmp_path / folder / "one.nii.gz"))
    folders = tmp_path / "pred", tmp_path / "ref"
    table = cases(*map(images_in, folders), spacing=None, tolerance=1.0)
    same = cases([np.roll(mask, 1, axis=0)], [mask], spacing=(4.0, 1.0, 0.5), tolerance=1.0)
    assert table["case"].tolist() == ["one"]
    assert table["hd"][0] == pytest.approx(4)
    for name in METRICS:
        assert table[name][0] == pytest.approx(same[name][0])
    moved = sitk.ReadImage(str(tmp_path / "ref" / "one.nii.gz"))
    moved.SetOrigin((1.0, 0.0, 0.0))
    sitk.WriteImage(moved, str(tmp_path / "moved.mha"))
    with pytest.raises(ValueError, match="images of a case must lie on one grid; those of case 'one' differ"):
        cases([tmp_path / "pred" / "one.nii.gz"], [tmp_path / "moved.mha"], spacing=None)
    with pytest.raises(ValueError, match="there is no image file"):
        cases([tmp_path / "absent.mha"], [tmp_path / "moved.mha"], spacing=None)
    (tmp_path / "odd.mha").write_text("x")
    with pytest.raises(ValueError, match="cannot be read as an image"):
        cases([tmp_path / "odd.mha"], [tmp_path / "moved.mha"], spacing=None)


def test_images_without_a_spacing_of_their_own(tmp_path):
    """A file of print resolution, and grey images of few bits, whose labels the reader stretches to 8 bits."""
    sitk = pytest.importorskip("SimpleITK")
    image = pytest.importorskip("PIL.Image")
    mask = ball(12, radius=4, d=2).astype(np.uint8)
    for ending, options, steps in (("png", {}, 1.0), ("tif", {"dpi": (300, 300)}, 25.4 / 300)):
        image.fromarray(mask).save(tmp_path / f"a.{ending}", **options)
        path = [tmp_path / f"a.{ending}"]
        with pytest.warns(jaxci.JaxciWarning, match=r"(PNG|TIFF) files .* in case 'a'; spacing= gives another"):
            table = cases(path, path, spacing=None, tolerance=1.0)
        assert table["reference_volume"][0] == pytest.approx(mask.sum() * steps**2, rel=1e-3)
    image.fromarray(mask.astype(bool)).save(tmp_path / "bit.png")
    assert cases([tmp_path / "bit.png"], [mask], spacing=1.0, tolerance=1.0)["dice"].tolist() == [1]
    image.fromarray(mask).convert("P").save(tmp_path / "palette.png")
    assert sitk.ReadImage(str(tmp_path / "palette.png")).GetNumberOfComponentsPerPixel() == 3
    with pytest.raises(ValueError, match=r"'.*palette\.png' has 3, as images of colours or of a palette have"):
        cases([tmp_path / "palette.png"], [mask], spacing=1.0)
