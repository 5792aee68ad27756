"""What a page looks like, as far as a program can tell: how wide it is, and how plain its texts."""

from selenium.webdriver import Chrome

READABLE = 4.5  # contrast of text, WCAG 2.2 §1.4.3

# Every text on the page with its colour and that of the nearest background behind it.
COLOURS = """
const shown = [];
for (const element of document.querySelectorAll("body *")) {
  const text = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!text && element.tagName !== "INPUT") continue;
  if (!element.getClientRects().length) continue;
  let behind = element;
  while (behind && getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
    behind = behind.parentElement;
  shown.push([element.outerHTML.slice(0, 80), getComputedStyle(element).color,
              behind ? getComputedStyle(behind).backgroundColor : "rgb(255, 255, 255)"]);
}
return shown;
"""

OVERHANG = "const all = document.documentElement; return all.scrollWidth - all.clientWidth"


def overhang(browser: Chrome) -> int:
    """CSS pixels by which the page at hand is wider than the screen."""
    return int(browser.execute_script(OVERHANG))


def faint_texts(browser: Chrome) -> list[tuple[str, float]]:
    """The elements of the page at hand whose text cannot be read, with its contrast."""
    contrasts = (
        (element, contrast_of(colour, behind))
        for element, colour, behind in browser.execute_script(COLOURS)
    )
    return [(element, round(found, 2)) for element, found in contrasts if found < READABLE]


def contrast_of(one: str, other: str) -> float:
    """Contrast of two colours (WCAG 2.2, "contrast ratio")."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(…)` (WCAG 2.2); translucent colours are not for text."""
    assert colour.startswith("rgb("), colour
    channels = [int(part) / 255 for part in colour[4:-1].split(",")]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
