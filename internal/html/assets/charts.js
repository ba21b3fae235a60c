"use strict";
// Draws the charts. The attribute data-chart of an element .chart contains its data, see Chart
// in chart.go. Colors are variables of the style sheet, so that a chart need not be redrawn for
// another theme or for print. Texts of the service enter the page only as text nodes.
const Charts = (() => {
  const colours = 8;
  const colour = (n) => `var(--c${n % colours})`;
  const quiet = "var(--quiet)";
  const font = getComputedStyle(document.body).fontFamily;
  // Six digits keep the labels of an axis distinct: 10.25K and 10.3K.
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 6 });

  const element = (name, text, parent) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };

  const isTimed = (variant) => !variant.categories;

  // tooltip returns the element at the pointer: the category and the exact value of each
  // series or, on a time axis, one value.
  const tooltip = (chart, variant) => (at) => {
    const box = element("div");
    box.className = "tip";
    if (isTimed(variant)) {
      const s = variant.series[at.seriesIndex];
      if (s.name) element("b", s.name, box);
      element("div", s.texts[at.dataIndex], box);
      return box;
    }
    const i = (Array.isArray(at) ? at[0] : at).dataIndex;
    element("b", variant.categories[i], box);
    for (const s of variant.series) {
      if (s.values[i] === null || s.values[i] === undefined) continue;
      const line = element("div", undefined, box);
      if (chart.kind === "box") { element("div", s.texts[i], line); continue; }
      element("i", undefined, line).style.background = colour(s.colour);
      line.append(s.name || "");
      element("span", s.texts[i], line);
    }
    return box;
  };

  // labelText breaks the label of an unfinished period, and that of an unknown category.
  const labelText = (category) => category.replace(/ (?=so far$|unknown\)$)/, "\n");

  // labelStep returns n if every n-th label of a horizontal axis fits.
  const labelStep = (variant, width) => {
    const longest = Math.max(...variant.categories.flatMap((c) => labelText(c).split("\n")).map((line) => line.length));
    return Math.ceil((6.5 * longest + 8) * variant.categories.length / (width - 70));
  };

  const categoryAxis = (chart, variant, width) => ({
    type: "category", data: variant.categories, inverse: chart.horizontal,
    axisTick: { show: false }, axisLine: { lineStyle: { color: "var(--line)" } },
    axisLabel: chart.horizontal
      ? { color: "var(--ink)", fontFamily: font, fontSize: 12, interval: 0, width: width < 480 ? 110 : 170, overflow: "truncate" }
      : { color: quiet, fontFamily: font, fontSize: 11, lineHeight: 13, formatter: labelText,
        interval: (i) => (variant.categories.length - 1 - i) % labelStep(variant, width) === 0 },
  });

  // timeAxis labels up to five of the dates in UTC, or the times if they span less than two days. Each label is
  // at a value, and no two labels are equal.
  const timeAxis = (variant) => {
    const all = variant.series.flatMap((s) => s.times.map(Date.parse)).sort((a, b) => a - b);
    const [first, last] = [all[0], all.at(-1)];
    const part = last - first < 48 * 3600e3 ? [5, 16] : [0, 10];
    const label = (t) => new Date(t).toISOString().slice(...part).replace("T", " ");
    const distinct = [...new Map(all.map((t) => [label(t), t])).values()], most = Math.min(5, distinct.length);
    const labelled = Array.from({ length: most }, (_, i) => distinct[Math.round(i * (distinct.length - 1) / Math.max(1, most - 1))]);
    return {
      type: "time", min: first, max: last, axisTick: { show: false }, splitLine: { show: false },
      axisLine: { onZero: false, lineStyle: { color: "var(--line)" } },
      axisLabel: { color: quiet, fontFamily: font, fontSize: 11, hideOverlap: true, customValues: labelled, formatter: label },
    };
  };

  // roundTicks returns round numbers for a logarithmic axis. A short axis has more of them:
  // with powers of ten only, an axis of prices from 100 to 900 would show one number.
  const roundTicks = (low, high) => {
    const powers = Math.log10(high / low);
    const multiples = powers <= 1 ? [1, 1.5, 2, 3, 5, 7] : powers <= 3 ? [1, 2, 5] : [1];
    const all = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high * 10; power *= 10) all.push(...multiples.map((m) => m * power));
    const first = all.findLastIndex((v) => v <= low), last = all.findIndex((v) => v >= high);
    return all.slice(Math.max(first, 0), last + 1);
  };

  const logAxis = (variant) => {
    const ticks = roundTicks(lowest(variant), highest(variant));
    return { type: "log", min: ticks[0], max: ticks.at(-1), axisTick: { show: false, customValues: ticks }, ticks };
  };

  const valueAxis = (chart, variant) => {
    const { ticks, ...axis } = chart.log && lowest(variant) > 0 ? logAxis(variant) : { type: "value", scale: isTimed(variant), minInterval: numbers(variant).every(Number.isInteger) ? 1 : 0 };
    // Larger values are cut at the end of the axis. The note below the chart names them.
    const axisEnd = variant.axis_end || Infinity;
    return {
      max: (v) => v.max > axisEnd ? axisEnd : null, min: (v) => v.min < -axisEnd ? -axisEnd : null,
      ...axis, name: chart.unit, nameTextStyle: { color: quiet, fontFamily: font, fontSize: 11, align: chart.horizontal ? "left" : "right" },
      splitLine: { lineStyle: { color: "var(--faint)" } }, axisLine: { show: false }, splitNumber: 4,
      axisLabel: { color: quiet, fontFamily: font, fontSize: 11, hideOverlap: true, customValues: ticks, formatter: (v) => short.format(v) },
    };
  };

  const numbers = (variant) => variant.series.flatMap((s) => s.values.flat()).filter((v) => v !== null);
  const lowest = (variant) => Math.min(...numbers(variant));
  const highest = (variant) => Math.max(...numbers(variant));

  // pointsOf returns the values with their times. A value with an empty text has no mark.
  const pointsOf = (s) => s.values.map((v, i) => ({ value: [Date.parse(s.times[i]), v], symbol: s.texts[i] ? "circle" : "none" }));

  // valuesOf returns the values by category. Those of an unfinished period are pale.
  const valuesOf = (variant, s) => s.values.map((value, i) =>
    variant.unfinished && i === s.values.length - 1 ? { value, symbol: "emptyCircle", itemStyle: { opacity: 0.45 } } : value);

  const series = (chart, variant) => (s) => {
    const shared = { name: s.name, data: s.times ? pointsOf(s) : valuesOf(variant, s), animation: false, cursor: s.links ? "pointer" : "default", emphasis: { disabled: true } };
    if (chart.kind === "box") {
      return { ...shared, type: "boxplot", boxWidth: [6, 16],
        itemStyle: { color: "var(--fill)", borderColor: colour(0), borderWidth: 1.2 } };
    }
    if (chart.kind === "line" || chart.kind === "step") {
      return { ...shared, type: "line", step: chart.kind === "step" ? "end" : false, symbol: "circle", symbolSize: 6, showAllSymbol: true,
        connectNulls: false, itemStyle: { color: colour(s.colour) }, lineStyle: { color: colour(s.colour), width: 2 } };
    }
    return { ...shared, type: "bar", stack: chart.stacked ? "all" : undefined, barMaxWidth: 26, barGap: "12%",
      barCategoryGap: "30%", itemStyle: { color: colour(s.colour), borderRadius: chart.stacked ? 0 : 2 } };
  };

  const hasLegend = (variant) => variant.series.length > 1;

  // A legend cuts longer names. Names often differ only at their end, such as "Press release in Legal Wire · Pro".
  const legendText = (width) => Math.min(420, width - 60);

  // legendHeight returns the height of a legend, whose names may need several lines.
  const legendHeight = (variant, width) => {
    let lines = 1, used = 0;
    for (const s of variant.series) {
      const wide = 26 + Math.min(7 * s.name.length, legendText(width));
      if (used > 0 && used + wide > width - 16) {
        lines += 1;
        used = 0;
      }
      used += wide;
    }
    return 10 + 24 * lines;
  };

  // topMargin is the space above the values, for the legend and the unit.
  const topMargin = (chart, variant, width) =>
    (hasLegend(variant) ? legendHeight(variant, width) : 10) + (chart.unit && !chart.horizontal ? 18 : 0);

  const options = (chart, variant, width) => {
    // The last label of a horizontal axis is centered at the last value.
    const half = isTimed(variant) ? 34 : chart.horizontal ? 16 : Math.max(16, 3 * variant.categories.at(-1).length - 8);
    const place = isTimed(variant) ? timeAxis(variant) : categoryAxis(chart, variant, width), value = valueAxis(chart, variant);
    return {
      animation: false, useUTC: true, textStyle: { fontFamily: font },
      grid: { left: 4, right: Math.min(half, 60), top: topMargin(chart, variant, width), bottom: 4, containLabel: true },
      legend: hasLegend(variant) ? { top: 0, left: 0, type: "plain", itemWidth: 10, itemHeight: 10, itemGap: 14, inactiveColor: "var(--line)",
        icon: "roundRect", textStyle: { color: quiet, fontFamily: font, fontSize: 12, width: legendText(width), overflow: "truncate" } } : undefined,
      tooltip: { trigger: isTimed(variant) ? "item" : "axis", axisPointer: { type: "shadow", shadowStyle: { color: "rgba(128,128,128,0.12)" } }, confine: true,
        backgroundColor: "var(--card)", borderColor: "var(--line)", borderWidth: 1, padding: 8, transitionDuration: 0, formatter: tooltip(chart, variant) },
      xAxis: chart.horizontal ? value : place, yAxis: chart.horizontal ? place : value,
      series: variant.series.map(series(chart, variant)),
    };
  };

  const height = (chart, variant, width) => {
    const lines = chart.stacked || chart.kind === "box" ? 1 : variant.series.length;
    const top = topMargin(chart, variant, width);
    const low = "print" in document.documentElement.dataset;
    return chart.horizontal ? 32 + top + (11 + 13 * lines) * variant.categories.length : (low ? 170 : 236) + top;
  };

  const all = () => [...document.querySelectorAll(".chart")];
  const read = (node) => { node.chart ??= JSON.parse(node.dataset.chart); return node.chart; };
  const choiceOf = (node) => node.closest(".panel")?.querySelector("select.variants");

  const write = (node, selector, text) => {
    const e = node.closest(".panel")?.querySelector(selector);
    if (e) e.textContent = text || "";
  };

  // draw draws or redraws the chosen variant of a chart into its element.
  const draw = (node) => {
    const chart = read(node), variant = chart.variants[Number(choiceOf(node)?.value || 0)], width = node.clientWidth;
    if (width === 0) return; // the element is hidden
    node.style.height = `${height(chart, variant, width)}px`;
    if (!node.drawn) {
      node.drawn = echarts.init(node, null, { renderer: "svg" });
      node.drawn.on("click", (at) => {
        const link = read(node).variants[Number(choiceOf(node)?.value || 0)].series[at.seriesIndex].links?.[at.dataIndex];
        if (link) location.assign(link);
      });
    }
    node.drawn.resize({ silent: true });
    node.drawn.setOption(options(chart, variant, width), { notMerge: true });
    write(node, ".heading", variant.heading);
    write(node, ".cut", variant.note);
    const svg = node.querySelector("svg");
    if (svg) svg.setAttribute("viewBox", `0 0 ${width} ${node.clientHeight}`);
  };
  const drawAll = () => { if (isStarted()) all().forEach(draw); };
  const isStarted = () => "drawn" in document.documentElement.dataset;

  const start = () => {
    if (isStarted()) return;
    document.documentElement.dataset.drawn = "";
    drawAll();
    let width = innerWidth, wait;
    addEventListener("resize", () => {
      if (innerWidth === width || matchMedia("print").matches) return;
      width = innerWidth;
      clearTimeout(wait);
      wait = setTimeout(drawAll, 120);
    });
  };
  document.addEventListener("change", (event) => {
    if (event.target.matches("select.variants")) draw(event.target.closest(".panel").querySelector(".chart"));
  });
  // The page appears before the charts are drawn. Printing draws them at once.
  requestAnimationFrame(() => setTimeout(start));
  // A chart is drawn again at its size on paper, so that its texts are readable there. The style
  // of data-print has the widths of a printed page.
  const paper = (on) => () => {
    start();
    document.documentElement.toggleAttribute("data-print", on);
    drawAll();
  };
  addEventListener("beforeprint", paper(true));
  addEventListener("afterprint", paper(false));
  return { drawAll, read };
})();
