// Whether what is on a page can be read: contrast as WCAG 2 counts it.

/** Runs in the page, so it brings along all that it needs. Says which text or drawing has too little contrast. */
export function hardToRead(root: Element): string[] {
  const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const over = ([red = 0, green = 0, blue = 0, alpha = 1]: number[], below: number[]) =>
    [red, green, blue].map((value, index) => value * alpha + (below[index] ?? 0) * (1 - alpha));
  const behind = (element: Element | null): number[] => {
    if (!element) return [255, 255, 255];
    const own = channels(getComputedStyle(element).backgroundColor);
    return own[3] === undefined ? own : over(own, behind(element.parentElement));
  };
  const luminance = (color: number[]) => {
    const [red = 0, green = 0, blue = 0] = color.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (color: string, below: number[]) => {
    const [dark = 0, bright = 0] = [over(channels(color), below), below]
      .map(luminance)
      .sort((left, right) => left - right);
    return (bright + 0.05) / (dark + 0.05);
  };
  const told = (what: string, ratio: number, least: number) =>
    ratio < least ? [`${what}: ${ratio.toFixed(1)} of ${least}`] : [];
  const hasText = (element: Element) =>
    Array.from(element.childNodes).some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim(),
    );
  const texts = Array.from(root.querySelectorAll('*')).filter(
    (element) => element instanceof HTMLElement && element.tagName !== 'SCRIPT' && hasText(element),
  );
  // In high contrast, people expect the most that WCAG asks for.
  const least = root.classList.contains('vscode-high-contrast') ? 7 : 4.5;
  const drawings = Array.from(root.querySelectorAll('.fill, .mark'));
  return [
    ...texts.flatMap((element) => {
      const { color } = getComputedStyle(element);
      return told(element.textContent, contrast(color, behind(element)), least);
    }),
    ...drawings.flatMap((element) => {
      const { backgroundColor, stroke } = getComputedStyle(element);
      const color = element instanceof SVGElement ? stroke : backgroundColor;
      const name = element.getAttribute('class') ?? '';
      return told(name, contrast(color, behind(element.parentElement)), 3);
    }),
  ];
}
