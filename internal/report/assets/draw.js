"use strict";
// Draws the charts: from plain data to options of ECharts. Colours are
// variables of the style sheet, so that a change of theme, and print, need no
// drawing again. Texts of the service reach the page as text nodes only.
const Draw = (() => {
  const colours = 8;
  const colour = (n) => `var(--c${n % colours})`;
  const quiet = "var(--quiet)";
  const font = getComputedStyle(document.body).fontFamily;
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

  const element = (name, text, parent) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };

  // tip builds what hovers: the category, and the exact value of each series.
  const tip = (chart, variant) => (at) => {
    const i = (Array.isArray(at) ? at[0] : at).dataIndex;
    const box = element("div");
    box.className = "tip";
    element("b", variant.categories[i], box);
    for (const s of variant.series) {
      if (s.values[i] === null || s.values[i] === undefined) continue;
      const line = element("div", undefined, box);
      if (chart.kind === "box") { element("div", s.texts[i], line); continue; }
      element("i", undefined, line).style.background = colour(s.colour);
      line.append(s.name);
      element("span", s.texts[i], line);
    }
    return box;
  };

  const names = (chart, variant, narrow) => ({
    type: "category", data: variant.categories, inverse: chart.across,
    axisTick: { show: false }, axisLine: { lineStyle: { color: "var(--line)" } },
    axisLabel: chart.across
      ? { color: "var(--ink)", fontFamily: font, fontSize: 12, interval: 0, width: narrow ? 110 : 170, overflow: "truncate" }
      : { color: quiet, fontFamily: font, fontSize: 11, hideOverlap: true },
  });

  // steps are round numbers for a logarithmic axis, more of them where it is short: powers
  // of ten alone would leave prices between 100 and 900 without a number.
  const steps = (low, high) => {
    const powers = Math.log10(high / low);
    const of = powers <= 1 ? [1, 1.5, 2, 3, 5, 7] : powers <= 3 ? [1, 2, 5] : [1];
    const all = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high * 10; power *= 10) all.push(...of.map((m) => m * power));
    const first = all.findLastIndex((v) => v <= low), last = all.findIndex((v) => v >= high);
    return all.slice(Math.max(first, 0), last + 1);
  };

  const logAxis = (variant) => {
    const ticks = steps(lowest(variant), highest(variant));
    return { type: "log", min: ticks[0], max: ticks.at(-1), axisTick: { show: false, customValues: ticks }, ticks };
  };

  const values = (chart, variant) => {
    const { ticks, ...log } = chart.log && lowest(variant) > 0 ? logAxis(variant) : { type: "value" };
    return { ...log, ...valueStyle(ticks) };
  };

  const valueStyle = (ticks) => ({
    splitLine: { lineStyle: { color: "var(--faint)" } }, axisLine: { show: false }, splitNumber: 4,
    axisLabel: { color: quiet, fontFamily: font, fontSize: 11, hideOverlap: true, customValues: ticks, formatter: (v) => short.format(v) },
  });

  const numbers = (variant) => variant.series.flatMap((s) => s.values.flat()).filter((v) => v !== null);
  const lowest = (variant) => Math.min(...numbers(variant));
  const highest = (variant) => Math.max(...numbers(variant));

  const series = (chart) => (s) => {
    const shared = { name: s.name, data: s.values, animation: false, cursor: "default", emphasis: { disabled: true } };
    if (chart.kind === "box") {
      return { ...shared, type: "boxplot", boxWidth: [6, 16],
        itemStyle: { color: "var(--fill)", borderColor: colour(0), borderWidth: 1.2 } };
    }
    if (chart.kind === "line") {
      return { ...shared, type: "line", symbol: "circle", symbolSize: 5, connectNulls: false,
        itemStyle: { color: colour(s.colour) }, lineStyle: { color: colour(s.colour), width: 2 } };
    }
    return { ...shared, type: "bar", stack: chart.stacked ? "all" : undefined, barMaxWidth: 26, barGap: "12%",
      barCategoryGap: "30%", itemStyle: { color: colour(s.colour), borderRadius: chart.stacked ? 0 : 2 } };
  };

  // legendHeight makes room for names that need more than one line.
  const legendHeight = (variant, width) => {
    const wide = variant.series.reduce((sum, s) => sum + 26 + 7 * Math.min(s.name.length, 24), 0);
    return 14 + 20 * Math.ceil(wide / (width - 16));
  };

  const options = (chart, variant, width) => {
    const many = variant.series.length > 1, narrow = width < 480;
    const category = names(chart, variant, narrow), value = values(chart, variant);
    return {
      animation: false, textStyle: { fontFamily: font },
      grid: { left: 4, right: 16, top: many ? legendHeight(variant, width) : 10, bottom: 4, containLabel: true },
      legend: many ? { top: 0, left: 0, type: "plain", itemWidth: 10, itemHeight: 10, itemGap: 14, inactiveColor: "var(--line)",
        icon: "roundRect", textStyle: { color: quiet, fontFamily: font, fontSize: 12, width: 150, overflow: "truncate" } } : undefined,
      tooltip: { trigger: "axis", axisPointer: { type: "shadow", shadowStyle: { color: "rgba(128,128,128,0.12)" } }, confine: true,
        backgroundColor: "var(--card)", borderColor: "var(--line)", borderWidth: 1, padding: 8, transitionDuration: 0, formatter: tip(chart, variant) },
      xAxis: chart.across ? value : category, yAxis: chart.across ? category : value,
      series: variant.series.map(series(chart)),
    };
  };

  const height = (chart, variant, width) => {
    const lines = chart.stacked || chart.kind === "box" ? 1 : variant.series.length;
    const legend = variant.series.length > 1 ? legendHeight(variant, width) : 10;
    const [perBar, around, upright] = [11 + 13 * lines, 32 + legend, 236 + legend];
    return chart.across ? around + perBar * variant.categories.length : upright;
  };

  // into draws a variant into its element, or again after a change of width.
  const into = (node, chart, variant) => {
    node.style.height = `${height(chart, variant, node.clientWidth)}px`;
    node.drawn = node.drawn || echarts.init(node, null, { renderer: "svg" });
    node.drawn.resize({ silent: true });
    node.drawn.setOption(options(chart, variant, node.clientWidth), { notMerge: true });
    const svg = node.querySelector("svg");
    if (svg) svg.setAttribute("viewBox", `0 0 ${node.clientWidth} ${node.clientHeight}`);
  };
  return { into };
})();
