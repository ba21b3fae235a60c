// The parts of Apache ECharts that charts.js draws with. echarts.min.js is made of this
// file and two npm packages, in a folder that holds nothing else:
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
