"""Texts and names brought to the form in which two disguises of the same thing are equal.

Folding forgets case, spacing, punctuation, Unicode form, invisible characters, look-alike letters and whether
mathematics is written in LaTeX, in Unicode or in ASCII. It never forgets a word or an operator.
"""

from __future__ import annotations

import re
import unicodedata

#: Letters of other alphabets that a reader takes for Latin ones (lower case; folding lowers first).
_CYRILLIC = dict(zip("авсеһіјкмнорѕтухԁԛԝ", "abcehijkmhopstyxdqw", strict=True))
_GREEK = dict(zip("αεικνορτυχγηωβ", "aeikvoptuxynwb", strict=True))

#: Operators as words: Unicode symbol, ASCII spelling and LaTeX commands that mean it.
_OPERATORS: tuple[tuple[str, str, str], ...] = (
    ("≤", "<= \\le \\leq \\leqslant", "le"),
    ("≥", ">= \\ge \\geq \\geqslant", "ge"),
    ("<", "\\lt", "lt"),
    (">", "\\gt", "gt"),
    ("≠", "!= /= \\ne \\neq", "ne"),
    ("=", "", "eq"),
    ("↔", "<-> <=> \\iff \\leftrightarrow \\Leftrightarrow ⇔ ⟺", "iff"),
    ("→", "-> => \\to \\rightarrow \\Rightarrow \\implies \\longrightarrow ⇒ ⟶ ⟹", "to"),
    ("↦", "|-> \\mapsto", "mapsto"),
    ("⟨", "\\langle", " "),
    ("⟩", "\\rangle", " "),
    ("∧", "/\\ \\land \\wedge", "wedge"),
    ("∨", "\\/ \\lor \\vee", "vee"),
    ("¬", "\\lnot \\neg", "neg"),
    ("∀", "\\forall", "forall"),
    ("∃", "\\exists", "exists"),
    ("∈", "\\in", "mem"),
    ("∉", "\\notin", "notmem"),
    ("⊆", "\\subseteq", "subseteq"),
    ("⊂", "\\subset", "subset"),
    ("⊇", "\\supseteq", "supseteq"),
    ("⊃", "\\supset", "supset"),
    ("∪", "\\cup", "cup"),
    ("∩", "\\cap", "cap"),
    ("⋃", "\\bigcup", "bigcup"),
    ("⋂", "\\bigcap", "bigcap"),
    ("∅", "\\emptyset \\varnothing", "emptyset"),
    ("⊔", "\\sqcup", "sqcup"),
    ("⊓", "\\sqcap", "sqcap"),
    ("⨆", "\\bigsqcup", "bigsqcup"),
    ("⨅", "\\bigsqcap", "bigsqcap"),
    ("⊤", "\\top", "top"),
    ("⊥", "\\bot \\perp", "bot"),
    ("∑", "\\sum", "sum"),
    ("∏", "\\prod", "prod"),
    ("∫", "\\int", "int"),
    ("∂", "\\partial", "partial"),
    ("∇", "\\nabla", "nabla"),
    ("√", "\\sqrt", "sqrt"),
    ("∞", "\\infty", "infty"),
    ("∘", "\\circ", "circ"),
    ("•", "\\bullet", "smul"),
    ("·", "\\cdot ⋅", "*"),
    ("×", "\\times", "times"),
    ("⊗", "\\otimes", "otimes"),
    ("⊕", "\\oplus", "oplus"),
    ("∣", "\\mid \\vert \\lvert \\rvert", "|"),
    ("‖", "|| \\| \\Vert \\lVert \\rVert \\norm", "norm"),
    ("≃", "\\simeq", "simeq"),
    ("≅", "\\cong", "cong"),
    ("≈", "\\approx", "approx"),
    ("∼", "\\sim", "sim"),
    ("≡", "\\equiv", "equiv"),
    ("⁻¹", "^{-1} ^-1", "inv"),
    ("∖", "\\setminus \\backslash", "setminus"),
    ("⊢", "\\vdash", "vdash"),
    ("…", "... \\ldots \\cdots \\dots", " "),
)
_GREEK_COMMANDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega"
).split()
_GREEK_LETTERS = "αβγδεζηθικλμνξπρστυφχψω"

_WORD_OF = {symbol: word for symbol, _, word in _OPERATORS if len(symbol) == 1}
_SPELLINGS = {
    spelling: f" {word} "
    for symbol, spellings, word in _OPERATORS
    for spelling in (*spellings.split(), *([symbol] if len(symbol) > 1 else []))
}
_SPELLINGS |= {f"\\{name}": f" {letter} " for name, letter in zip(_GREEK_COMMANDS, _GREEK_LETTERS, strict=True)}
_SPELLINGS |= {f"\\var{name}": f" {_GREEK_LETTERS[_GREEK_COMMANDS.index(name)]} " for name in ("epsilon", "phi", "theta")}
_SPELLING = re.compile(
    "|".join(
        re.escape(item) + ("(?![a-zA-Z])" if item[-1].isalpha() else "") for item in sorted(_SPELLINGS, key=len, reverse=True)
    )
)
#: LaTeX that only sets type: the command goes, its argument stays.
_TYPESETTING = re.compile(
    r"\\(?:left|right|big|Big|bigg|Bigg|text|textit|textbf|textrm|mathrm|mathbb|mathbf|mathcal|mathfrak|mathsf|mathit|"
    r"mathscr|operatorname|emph|quad|qquad|limits|displaystyle|colon|ensuremath|bar|overline|tilde|hat|widehat)\*?(?![a-zA-Z])"
    r"|\\[,;:! ]"
)
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[+*/^|-]")
_PLAIN = re.compile(r"[A-Za-z ]*\Z")

#: Words that a rewording adds or drops without changing the mathematics.
STOPWORDS = frozenset(
    "a an the of in on at by to for from with and is are be been being was were it its this that these those there which "
    "who whose as we let then such so has have do does can may must i you please find show me lemma theorem lean mathlib".split()
)


def fold_tokens(text: str) -> list[str]:
    """The words, numbers and operators of a text, folded, in order."""
    if not _PLAIN.match(text):
        text = _plain(text)
    return _TOKEN.findall(text.lower())


def squeeze(tokens: list[str]) -> str:
    """The key under which two spellings of the same text meet ("non-empty" and "nonempty")."""
    return "".join(tokens)


def content(tokens: list[str]) -> list[str]:
    """The tokens that carry meaning, in order: no stop words, plurals as singulars."""
    return [_singular(token) for token in tokens if token not in STOPWORDS]


def words_of_name(name: str) -> list[str]:
    """The words of a Lean name: `IsCompact.isClosed_iff` gives is, compact, is, closed, iff."""
    return [word.lower() for word in re.findall(r"[^\W\d_]+|\d+", _CAMEL.sub(" ", clean_name(name)))]


def clean_name(name: str) -> str:
    """A name without what surrounds it in text: space, invisible characters, quotes, `_root_.`, `@`."""
    visible = "".join(char for char in unicodedata.normalize("NFC", name) if unicodedata.category(char) != "Cf")
    stripped = visible.strip().strip("`'\"").strip().removeprefix("@").removeprefix("_root_.")
    return stripped.replace("«", "").replace("»", "")


def name_key(name: str) -> str:
    """The key under which disguises of one name meet: case, dots, underscores, look-alikes forgotten."""
    text = unicodedata.normalize("NFKC", clean_name(name)).casefold()
    return "".join(_CYRILLIC.get(char, char) for char in _unmix(text) if char.isalnum() or char == "'")


def _plain(text: str) -> str:
    """LaTeX, Unicode and ASCII mathematics in one written form, invisible and look-alike characters resolved."""
    text = _TYPESETTING.sub(" ", text)
    text = _SPELLING.sub(lambda match: _SPELLINGS[match[0]], text)
    text = _COMMAND.sub(r" \1 ", text)
    if not text.isascii():
        text = "".join(f" {_WORD_OF[char]} " if char in _WORD_OF else char for char in text)
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in decomposed if unicodedata.category(char) not in ("Cf", "Mn")).lower()
        text = _unmix("".join(_CYRILLIC.get(char, char) for char in text))
    else:
        text = re.sub(r"[<>=]", lambda match: f" {_WORD_OF[match[0]]} ", text)
    return text


def _unmix(text: str) -> str:
    """Greek letters inside a word that also has Latin ones are look-alikes; a word of Greek alone is mathematics."""
    if text.isascii():
        return text
    return re.sub(r"[^\W\d_]+", lambda match: _latin(match[0]), text)


def _latin(word: str) -> str:
    if any("a" <= char <= "z" for char in word):
        return "".join(_GREEK.get(char, char) for char in word)
    return word


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
