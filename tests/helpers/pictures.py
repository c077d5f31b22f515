"""What tests of pictures look at: rendered texts and their boxes."""

from __future__ import annotations

import itertools


def _ticks(axis):
    low, high = sorted(axis.get_view_interval())
    margin = 1e-9 * (high - low)
    ticks = [tick for tick in axis.get_major_ticks() if low - margin <= tick.get_loc() <= high + margin]
    return [tick.label1 for tick in ticks if tick.label1.get_visible()]


def texts_of(figure):
    """Return every text that a reader sees: titles, labels, ticks, legends and what stands in panels."""
    figure.draw_without_rendering()
    own = [figure._supxlabel, figure._supylabel, figure._suptitle, *figure.texts]
    for legend in figure.legends:
        own += legend.get_texts()
    for axes in figure.axes:
        own += [axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        own += [label for axis in (axes.xaxis, axes.yaxis) for label in _ticks(axis)]
        if axes.get_legend() is not None:
            own += axes.get_legend().get_texts()
    return [text for text in dict.fromkeys(own) if text is not None and text.get_visible() and text.get_text().strip()]


def boxes_of(texts):
    """Return the box in pixels of every text itself, without lines that lead from it."""
    renderer = texts[0].figure.canvas.get_renderer()
    found = []
    for text in texts:
        kind = next(cls for cls in type(text).__mro__ if cls.__name__ == "Text")
        found.append((text.get_text(), kind.get_window_extent(text, renderer)))
    return found


def check_texts(figure):
    """Fail where a text leaves the figure, or two of them meet."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    boxes = boxes_of(texts_of(figure))
    width, height = figure.get_size_inches() * figure.dpi
    for text, box in boxes:
        assert box.x0 >= -0.5, text
        assert box.y0 >= -0.5, text
        assert box.x1 <= width + 0.5, text
        assert box.y1 <= height + 0.5, text
    for (one, a), (two, b) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 1 or down <= 1, (one, two)
