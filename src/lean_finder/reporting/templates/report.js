"use strict";
(() => {
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const narrow = () => window.innerWidth < 640;

  // Text and grid follow the page; everything else is as the report drew it.
  function themed(layout) {
    const axis = { gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line"), automargin: true };
    const themedAxes = {};
    for (const name of ["xaxis", "yaxis"]) {
      const given = layout[name] || {};
      const title = given.title ? { ...given.title, standoff: 8 } : undefined;
      themedAxes[name] = { ...axis, ...given, title, fixedrange: narrow() };
    }
    return {
      ...layout,
      ...themedAxes,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--text") },
      margin: { l: 48, r: 16, t: 12, b: 44 },
      legend: { ...layout.legend, orientation: "h", y: 1.02, yanchor: "bottom", x: 0, xanchor: "left" },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") } },
    };
  }

  const drawn = [];
  for (const source of document.querySelectorAll("script[data-figure]")) {
    const target = document.getElementById(source.dataset.figure);
    const figure = JSON.parse(source.textContent);
    drawn.push([target, figure]);
  }

  function draw() {
    for (const [target, figure] of drawn) {
      Plotly.react(target, figure.data, themed(figure.layout), { responsive: true, displayModeBar: false });
    }
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", draw);
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    draw();
  });
  draw();
})();
