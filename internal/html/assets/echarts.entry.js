// The modules of Apache ECharts that charts.js uses. To build echarts.min.js, copy this file
// into an empty folder and run:
//
//   npm install echarts@6.1.0 esbuild
//   npx esbuild echarts.entry.js --bundle --minify --format=iife \
//     --global-name=echarts --target=es2022 --legal-comments=none --outfile=echarts.min.js
import { init, use } from "echarts/core";
import { BarChart, BoxplotChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TooltipComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

use([BarChart, BoxplotChart, LineChart, GridComponent, LegendComponent, TooltipComponent, SVGRenderer]);

export { init };
