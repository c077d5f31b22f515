"""Sphinx's settings of the documentation: ``python -m sphinx -W -b html docs docs/_build/html`` builds it."""

import shutil
from pathlib import Path

import jaxci

HERE = Path(__file__).parent
shutil.copytree(
    HERE.parent / "notebooks",
    HERE / "notebooks",
    dirs_exist_ok=True,
    ignore=shutil.ignore_patterns(".ipynb_checkpoints"),
)

project = "jaxci"
author = "The authors of jaxci"
copyright = "the authors of jaxci"
release = version = jaxci.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]

myst_heading_anchors = 3
nb_execution_mode = "off"  # the tests run every block and compare what it prints

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "sphinx_book_theme"
html_title = "jaxci"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "repository_url": "https://github.com/jaxci/jaxci",
    "repository_branch": "main",
    "path_to_docs": "docs",
    "use_repository_button": True,
    "use_issues_button": True,
    "use_download_button": False,
    "show_toc_level": 2,
    "navbar_persistent": [],
    "collapse_navbar": True,  # the pages are the same, made without a copy of the tree of all pages for each
    "max_navbar_depth": 1,  # the 240 pages of the API are listed on its own
}
