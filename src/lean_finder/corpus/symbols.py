"""Mathematical symbols and LaTeX commands as plain words, one written form for documents and queries.

A word-piece vocabulary has no entry for most of Lean's symbols, and a query in LaTeX shares no token with a statement
in Unicode. Both sides are therefore brought to the words below before any tokenizer sees them.
"""

from __future__ import annotations

import re
import unicodedata

#: Unicode symbol → words. The table is ours; one line for each area.
_SYMBOLS = """
∀ forall|∃ exists|∄ not exists|¬ not|∧ and|∨ or|→ to|↔ iff|⟶ hom|⟹ implies|⇒ implies|⇔ iff|↦ mapsto|← from
⟵ from|⊢ turnstile|∴ therefore
= =|≠ ne|≤ le|≥ ge|≡ congruent|≢ not congruent|≈ approx|≃ equiv|≅ iso|∼ similar|~ similar|≪ much less
≫ much greater|≺ precedes|≼ precedes eq|≻ succeeds|≽ succeeds eq
≦ le|≧ ge|≨ lt|≰ not le|≱ not ge|≮ not lt|≯ not gt|⩿ weakly covers|⋖ covers|∣ divides|∤ not divides|∥ parallel
⊥ bot|⊤ top
∈ mem|∉ not mem|∋ contains|∌ not contains|⊆ subset|⊇ superset|⊂ strict subset|⊃ strict superset|⊊ strict subset
⊈ not subset|∪ union|∩ inter|∅ empty|∖ set minus|⋃ Union|⋂ Inter
⊔ sup|⊓ inf|⨆ iSup|⨅ iInf|⊎ disjoint union|⋁ sup|⋀ inf|∁ compl|ᶜ compl|𝒫 powerset|∆ symmetric difference
△ triangle|△ triangle
∑ sum|∏ prod|∐ coproduct|∫ integral|⨍ average integral|∮ contour integral|∂ partial|∇ gradient|√ sqrt
∛ cube root|∞ infinity|′ prime|″ double prime|‴ triple prime|Δ laplacian
× times|⨯ prod|· dot|⋅ dot|∙ dot|∗ star|⋆ star|★ star|• smul|∘ comp|≫ then|⋙ functor comp|⊙ odot|⊕ direct sum
⊗ tensor|⨂ tensor power|⨁ direct sum|⊖ minus|⊞ box plus|⊠ external product|⊡ box dot|⋈ bowtie|⋊ semidirect
⋉ semidirect
± plus or minus|∓ minus or plus|÷ div|⁄ div|− minus|‑ -|– -|— -|⁻¹ inv|⁻ minus|⁺ plus|† adjoint|‡ double dagger
ᵀ transpose|ᴴ conjugate transpose|ᵒᵈ order dual|ᵒᵖ op|ᵐᵒᵖ mul op|ᵃᵒᵖ add op|ˣ units|° interior|ᗮ orthogonal
‖ norm|∥ norm|⌊ floor|⌋ floor|⌈ ceil|⌉ ceil|⟨ (|⟩ )|⟪ inner|⟫ inner|⟦ class|⟧ class|⦃ {|⦄ }|⟮ (|⟯ )|⁅ bracket
⁆ bracket|↑ coe|⇑ coe fn|↥ coe sort|⇓ down|↓ down|⥤ functor|⥥ functor|⊣ adjunction|⟂ orthogonal|∡ oriented angle
∠ angle
𝓝 nhds|𝓤 uniformity|𝓟 principal|𝓡 model with corners|𝓢 schwartz|𝔼 expectation|ℙ probability|𝟙 identity
𝟭 identity functor|𝟎 zero|𝟏 one|∃! exists unique|ᶠ frequently|𝕜 field k|𝔸 adele|𝔽 field
ℕ nat|ℤ int|ℚ rat|ℝ real|ℂ complex|ℍ quaternion|ℙ prime|𝕊 sphere|𝔻 disc|𝕋 torus|ℓ ell|ℵ aleph|ℶ beth|ℓ ell
℘ weierstrass p|ℑ imaginary|ℜ real part|℧ mho|ħ hbar
↪ embedding|↠ surjection|⤖ bijection|⇄ swap|⇌ swap|⇆ swap|⤳ squiggle|⟿ squiggle|↝ squiggle|⇝ squiggle
→ₗ linear map|→+ add monoid hom|→* monoid hom|→+* ring hom|→ₐ algebra hom|→L continuous linear map|→o order hom
↪o order embedding
≃ₗ linear equiv|≃+ add equiv|≃* mul equiv|≃+* ring equiv|≃ₐ algebra equiv|≃L continuous linear equiv
≃o order iso|≃ₜ homeomorph|≃ᵢ isometry equiv|≃ₗᵢ linear isometry equiv|→ₗᵢ linear isometry
→₀ finitely supported function|→ₛ simple function|→ᵇ bounded continuous function|→ᵢ intertwining
→ₘ almost everywhere function
=ᵐ ae equal|≤ᵐ ae le|=ᶠ eventually equal|≤ᶠ eventually le|∀ᶠ eventually|∃ᶠ frequently|∀ᵐ almost everywhere
∃ᵐ exists positive measure|∫⁻ lower integral|⟶ᵇ bounded|≤ₐ le|≪ₘ absolutely continuous|∗ conv
⋯ dots|… dots|⋮ dots|⋱ dots|∎ qed|□ box|◇ diamond|♯ sharp|♭ flat|♮ natural|# card|⧸ quotient|\\ set minus
⊩ forces|⊨ models|⊧ models|∝ proportional|∡ angle|≺ precedes
α alpha|β beta|γ gamma|δ delta|ε epsilon|ζ zeta|η eta|θ theta|ι iota|κ kappa|λ lambda|μ mu|ν nu|ξ xi|ο omicron
π pi|ρ rho|ς sigma|σ sigma|τ tau|υ upsilon|φ phi|χ chi|ψ psi|ω omega|ϕ phi|ϵ epsilon|ϑ theta|ϱ rho|ϖ pi
Γ Gamma|Δ Delta|Θ Theta|Λ Lambda|Ξ Xi|Π Pi|Σ Sigma|Υ Upsilon|Φ Phi|Ψ Psi|Ω Omega|Ο Omicron
₀ 0|₁ 1|₂ 2|₃ 3|₄ 4|₅ 5|₆ 6|₇ 7|₈ 8|₉ 9|⁰ ^ 0|¹ ^ 1|² ^ 2|³ ^ 3|⁴ ^ 4|⁵ ^ 5|⁶ ^ 6|⁷ ^ 7|⁸ ^ 8|⁹ ^ 9|ⁿ ^ n|₊ plus
₋ minus|½ 1 / 2|⅓ 1 / 3|¼ 1 / 4
"""

#: LaTeX command (without the backslash) → Unicode symbol or words already in the written form.
_LATEX = """
forall ∀|exists ∃|nexists ∄|neg ¬|lnot ¬|land ∧|wedge ∧|lor ∨|vee ∨|to →|rightarrow →|longrightarrow →
Rightarrow ⇒|Longrightarrow ⇒|implies ⇒|impliedby from|iff ↔
leftrightarrow ↔|Leftrightarrow ↔|Longleftrightarrow ↔|longleftrightarrow ↔|mapsto ↦|longmapsto ↦|leftarrow ←
gets ←|vdash ⊢|models ⊨|hookrightarrow ↪|twoheadrightarrow ↠|rightharpoonup →|rightrightarrows →|xrightarrow →
uparrow ↑|downarrow ↓|nearrow ↑|searrow ↓
neq ≠|ne ≠|le ≤|leq ≤|leqslant ≤|ge ≥|geq ≥|geqslant ≥|lt <|gt >|equiv ≡|approx ≈|simeq ≃|cong ≅|sim ∼|ll ≪|gg ≫
prec ≺|preceq ≼|succ ≻|succeq ≽|mid ∣|nmid ∤|parallel ∥|perp ⊥|bot ⊥|top ⊤|propto ∝|asymp ≍|doteq =|triangleq =
coloneqq =|lessdot ⋖|trianglelefteq normal subgroup|lhd ⊲|nleq ≰|ngeq ≱|nless ≮
in ∈|notin ∉|ni ∋|subset ⊂|subseteq ⊆|subsetneq ⊊|supset ⊃|supseteq ⊇|nsubseteq ⊈|cup ∪|cap ∩|bigcup ⋃|bigcap ⋂
emptyset ∅|varnothing ∅|setminus \\|smallsetminus \\|complement ∁|sqcup ⊔|sqcap ⊓|bigsqcup ⨆|bigsqcap ⨅|uplus ⊎
bigvee ⨆|bigwedge ⨅|triangle △|sqsubseteq ≤
sum ∑|prod ∏|coprod ∐|int ∫|iint ∫ ∫|oint ∮|partial ∂|nabla ∇|sqrt √|infty ∞|prime ′|lim limit|limsup limsup
liminf liminf|varliminf liminf|varlimsup limsup|sup sup|inf inf|max max|min min|arg arg|det det|dim dim|ker ker
coker coker|im im|rank rank|deg deg|gcd gcd|lcm lcm|exp exp|log log|ln log|sin sin|cos cos|tan tan|cot cot
sec sec|csc csc|arcsin arcsin|arccos arccos|arctan arctan|sinh sinh|cosh cosh|tanh tanh|Pr ℙ|hom hom|Hom Hom
times ×|cdot ·|ast ∗|star ⋆|bullet •|circ ∘|odot ⊙|oplus ⊕|otimes ⊗|bigoplus ⨁|bigotimes ⨂|ominus ⊖|boxplus ⊞
boxtimes ⊠|rtimes ⋊|ltimes ⋉|bowtie ⋈|pm ±|mp ∓|div ÷|dagger †|ddagger ‡|wr wreath|amalg ∐
lVert ‖|rVert ‖|Vert ‖|lvert ∣|rvert ∣|vert ∣|lfloor ⌊|rfloor ⌋|lceil ⌈|rceil ⌉|langle ⟨|rangle ⟩|llbracket ⟦
rrbracket ⟧|lbrace {|rbrace }|lbrack [|rbrack ]|angle ∠|measuredangle ∡
ldots …|cdots ⋯|dots …|vdots ⋮|ddots ⋱|dotsb ⋯|dotsc …|blacksquare ∎|square □|Box □|diamond ◇|Diamond ◇|sharp ♯
flat ♭|natural ♮|#  #|aleph ℵ|beth ℶ|ell ℓ|wp ℘|Im ℑ|Re ℜ|hbar ħ|imath i|jmath j|top ⊤
alpha α|beta β|gamma γ|delta δ|epsilon ε|varepsilon ε|zeta ζ|eta η|theta θ|vartheta θ|iota ι|kappa κ|varkappa κ
lambda λ|mu μ|nu ν|xi ξ|omicron ο|pi π|varpi π|rho ρ|varrho ρ|sigma σ|varsigma σ|tau τ|upsilon υ|phi φ|varphi φ
chi χ|psi ψ|omega ω
Gamma Γ|Delta Δ|Theta Θ|Lambda Λ|Xi Ξ|Pi Π|Sigma Σ|Upsilon Υ|Phi Φ|Psi Ψ|Omega Ω
N ℕ|Z ℤ|Q ℚ|R ℝ|C ℂ|H ℍ|F 𝔽|P ℙ|E 𝔼|RR ℝ|NN ℕ|ZZ ℤ|QQ ℚ|CC ℂ|Bbbk 𝕜|reals ℝ|lambda λ|bmod mod|mod mod|pmod mod
colon :|quotient ⧸|Spec Spec|Gal Gal|Aut Aut|End End|Ext Ext|Tor Tor|id id|tr trace|Tr trace|diag diag|span span
supp support|op op|cl closure|conv convex hull
"""
#: LaTeX commands whose single argument is kept and whose own name says nothing.
_TRANSPARENT = [
    "mathrm",
    "mathbf",
    "mathit",
    "mathsf",
    "mathtt",
    "text",
    "textbf",
    "textit",
    "textrm",
    "emph",
    "operatorname",
    "boldsymbol",
    "bm",
    "mbox",
    "hbox",
    "left",
    "right",
    "big",
    "Big",
    "bigl",
    "bigr",
    "Bigl",
    "Bigr",
    "bigg",
    "Bigg",
    "middle",
    "displaystyle",
    "textstyle",
    "limits",
    "nolimits",
    "mathop",
    "mathbin",
    "mathrel",
    "mathord",
    "quad",
    "qquad",
    ",",
    ";",
    ":",
    "!",
    "enspace",
    "thinspace",
    "phantom",
    "hspace",
    "vspace",
    "noindent",
    "label",
    "nonumber",
    "ensuremath",
    "mathstrut",
]
_ACCENTS = {
    "overline": "closure",
    "bar": "bar",
    "hat": "hat",
    "widehat": "hat",
    "tilde": "tilde",
    "widetilde": "tilde",
    "vec": "vector",
    "dot": "dot",
    "ddot": "double dot",
    "underline": "underline",
    "mathring": "interior",
}
_BLACKBOARD = {
    "N": "ℕ",
    "Z": "ℤ",
    "Q": "ℚ",
    "R": "ℝ",
    "C": "ℂ",
    "H": "ℍ",
    "F": "𝔽",
    "P": "ℙ",
    "E": "𝔼",
    "A": "𝔸",
    "K": "𝕜",
    "k": "𝕜",
    "D": "𝔻",
    "S": "𝕊",
    "T": "𝕋",
}


def _table(text: str) -> dict[str, str]:
    pairs = (item.partition(" ") for line in text.strip().splitlines() for item in line.split("|") if item.strip())
    return {key: value.strip() for key, _, value in pairs}


SYMBOLS = _table(_SYMBOLS)
LATEX = _table(_LATEX)

_SYMBOL = re.compile("|".join(re.escape(key) for key in sorted(SYMBOLS, key=len, reverse=True) if key != "="))
_FRAC = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_BINOM = re.compile(r"\\[dt]?binom\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_BLACK = re.compile(r"\\(?:mathbb|Bbb|mathds|mathbbm)\s*\{?\s*([A-Za-z])\s*\}?")
_LETTERED = re.compile(r"\\(?:mathcal|mathfrak|mathscr|cal|frak)\s*\{?\s*([A-Za-z])\s*\}?")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)")
_DOLLARS = re.compile(r"\$+|\\[()\[\]]")
_BRACED = re.compile(r"([_^])\s*\{([^{}]*)\}")
_BLANKS = re.compile(r"\s+")
#: Blanks that a replaced symbol leaves inside brackets and before commas.
_INSIDE = re.compile(r"(?<=[(\[{]) | (?=[)\]},])")
_ASCII = (
    ("<->", " iff "),
    ("->", " to "),
    ("=>", " implies "),
    ("<=", " le "),
    (">=", " ge "),
    ("!=", " ne "),
    ("/\\", " and "),
    ("\\/", " or "),
)


def latex_to_unicode(text: str) -> str:
    """LaTeX commands as Unicode symbols, mark-up removed; text without LaTeX is unchanged."""
    if "\\" not in text and "$" not in text:
        return text
    text = text.replace("/\\", "∧").replace("\\/", "∨")
    text = _DOLLARS.sub(" ", text)
    text = re.sub(r"\\begin\{[^}]*\}|\\end\{[^}]*\}|\\\\|&", " ", text)
    text = text.replace("\\{", " { ").replace("\\}", " } ").replace("\\|", "‖").replace("\\ ", " ")
    text = re.sub(r"\^\s*\{?\s*\\top\s*\}?|\^\s*\{?\\intercal\}?", "ᵀ", text)
    text = re.sub(r"\^\s*\{\s*-\s*1\s*\}", "⁻¹", text)
    text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?", "°", text)
    text = _BLACK.sub(lambda m: _BLACKBOARD.get(m.group(1), m.group(1)), text)
    text = _LETTERED.sub(r"\1", text)
    for _ in range(4):
        shorter = _BINOM.sub(r" (\1 choose \2) ", _FRAC.sub(r" (\1) / (\2) ", _BRACED.sub(r"\1 \2 ", text)))
        if shorter == text:
            break
        text = shorter
    return _COMMAND.sub(_command, text)


def _command(match: re.Match[str]) -> str:
    name = match.group(1)
    if name in LATEX:
        return f" {LATEX[name]} "
    if name in _ACCENTS:
        return f" {_ACCENTS[name]} "
    if name in _TRANSPARENT:
        return " "
    if name.startswith("not") and name[3:] in LATEX:
        return f" not {LATEX[name[3:]]} "
    return f" {name} " if name.isalpha() else name


def symbols_to_words(text: str) -> str:
    """Unicode symbols as words of the tables above; letters of mathematical alphabets as plain letters."""
    text = _SYMBOL.sub(lambda match: f" {SYMBOLS[match.group()]} ", text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for mark, words in _ASCII:
        if mark in text:
            text = text.replace(mark, words)
    return _INSIDE.sub("", _BLANKS.sub(" ", text)).strip()


def written_form(text: str) -> str:
    """The one form in which documents and queries meet: LaTeX to Unicode, Unicode to words, single blanks."""
    return symbols_to_words(latex_to_unicode(text))
