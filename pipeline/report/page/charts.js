'use strict';
// What each chart shows. A chart is a function of rows and a theme that gives ECharts' options; nothing here touches the page.

// Colours that people with any colour vision can tell apart (Okabe and Ito), each with a symbol and a dash of its own.
const colours = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8a8a00'];
const symbols = ['circle', 'rect', 'triangle', 'diamond', 'pin', 'arrow', 'roundRect'];
const dashes = ['solid', 'dashed', 'dotted'];
const look = i => ({colour: colours[i % colours.length], symbol: symbols[i % symbols.length], dash: dashes[Math.floor(i / colours.length) % dashes.length]});

// number has four digits at most; seconds has a unit.
function number(v) {
  if (v === null || v === undefined) return '-';
  if (typeof v === 'string') return v; // "Infinity"
  return Math.abs(v) >= 999.5 ? Math.round(v).toLocaleString('en-US') : String(Number(v.toPrecision(3)));
}
function seconds(v) {
  if (v === null || v === undefined) return '-';
  if (typeof v === 'string') return v;
  if (v < 0.9995) return number(v * 1000) + ' ms';
  return number(v) + ' s';
}
const share = v => v === null || v === undefined ? '-' : number(v * 100) + ' %';

// lines makes an element of text lines: nothing of a run is ever read as markup.
function lines(texts) {
  const box = document.createElement('div');
  box.style.whiteSpace = 'normal';
  box.style.maxWidth = '24rem';
  texts.forEach((text, i) => {
    const line = document.createElement('div');
    line.textContent = text;
    if (i === 0) line.style.fontWeight = '600';
    box.append(line);
  });
  return box;
}

// time is a statistic of times. Where a limit is held against it, it is the figure that is judged, in which failures are infinitely long.
function time(p, column) {
  const held = p.limits.find(l => l.figure === column.replace('_p', '_all_p'));
  return held && held.value_s !== null ? held.value_s : p[column];
}

function pointLines(trial, p) {
  const all = [trial.label + ', ' + p.label + (p.selected ? p.feasible ? ' (selected)' : ' (selected, does not meet the limits)' : '')];
  all.push('output ' + number(p.output_tok_per_s) + ' tok/s' + (p.steady_output_tok_per_s === null ? '' : ', steady ' + number(p.steady_output_tok_per_s)));
  all.push('TTFT p50 ' + seconds(time(p, 'ttft_p50_s')) + ', p95 ' + seconds(time(p, 'ttft_p95_s')) + ', p99 ' + seconds(time(p, 'ttft_p99_s')));
  all.push('TPOT p50 ' + seconds(time(p, 'tpot_p50_s')) + ', ' + number(p.output_tok_per_s_user) + ' tok/s a user');
  all.push(p.requests_ok + ' of ' + p.requests_issued + ' requests ok');
  return all.concat(p.reasons);
}

// base is what all charts have in common.
function base(theme) {
  return {
    animation: false, backgroundColor: 'transparent', textStyle: {color: theme.front, fontFamily: 'system-ui, sans-serif'},
    aria: {enabled: true}, grid: {left: 64, right: 24, top: 44, bottom: 48},
    legend: {top: 4, type: 'scroll', textStyle: {color: theme.front}, pageTextStyle: {color: theme.front}},
    tooltip: {confine: true, backgroundColor: theme.back, borderColor: theme.line, textStyle: {color: theme.front}},
  };
}
function axis(theme, name, more) {
  return Object.assign({
    name, nameLocation: 'middle', nameGap: 32, nameTextStyle: {color: theme.front}, axisLabel: {color: theme.front, hideOverlap: true},
    axisLine: {lineStyle: {color: theme.quiet}}, splitLine: {lineStyle: {color: theme.line}},
  }, more);
}

// shape is how a point is drawn: large where selected, hollow where it can't be chosen or does not meet a limit.
function shape(p, i, theme) {
  const l = look(i);
  return {
    symbol: p.selected ? 'diamond' : l.symbol, symbolSize: p.selected ? 18 : 9,
    itemStyle: p.feasible ? {color: l.colour, borderColor: p.selected ? theme.front : l.colour, borderWidth: p.selected ? 2 : 1} : {color: theme.back, borderColor: l.colour, borderWidth: 2},
  };
}

// against draws a figure of all trials' points against their load.
function against(trials, theme, of, name, write, limit) {
  const option = base(theme);
  const positive = trials.every(t => t.points.every(p => p.level === null || p.level > 0));
  option.xAxis = axis(theme, trials[0].axis.replaceAll('_', ' '), {type: positive ? 'log' : 'value', logBase: 2, splitLine: {show: false}});
  option.yAxis = axis(theme, name, {type: 'value', min: 0, nameGap: 48, axisLabel: {color: theme.front, formatter: write}});
  option.tooltip.formatter = d => d.data && d.data.lines ? lines(d.data.lines) : undefined;
  option.series = trials.map((t, i) => ({
    type: 'line', name: t.label, lineStyle: {color: look(i).colour, type: look(i).dash}, itemStyle: {color: look(i).colour}, symbol: look(i).symbol,
    data: t.points.filter(p => p.level !== null && typeof of(p) === 'number').map(p => Object.assign({value: [p.level, of(p)], lines: pointLines(t, p)}, shape(p, i, theme))),
  }));
  const without = trials.flatMap(t => t.points.filter(p => p.level !== null && typeof of(p) !== 'number').map(p => ({value: [p.level, 0], lines: pointLines(t, p)})));
  if (without.length > 0) {
    option.series.push({type: 'scatter', name: 'no figure', symbol: 'path://M0 0L8 8M8 0L0 8', symbolSize: 12, itemStyle: {color: 'transparent', borderColor: theme.bad, borderWidth: 3}, data: without});
  }
  if (limit !== undefined && option.series.length > 0) {
    option.series[0].markLine = {
      silent: true, symbol: 'none', lineStyle: {color: theme.bad, type: 'dashed', width: 2},
      label: {color: theme.bad, formatter: 'limit ' + write(limit), position: 'insideEndTop'}, data: [{yAxis: limit}],
    };
    const most = Math.max(limit, ...option.series.flatMap(s => s.data.map(d => d.value[1])));
    option.yAxis.max = most === limit ? limit * 1.1 : undefined;
  }
  return option;
}

// ttftLimit is the limit on median TTFT, where all trials have one and the same.
function ttftLimit(trials) {
  const limits = new Set(trials.flatMap(t => t.points.flatMap(p => p.limits.filter(l => l.figure === 'ttft_all_p50_s').map(l => l.limit_s))));
  return limits.size === 1 ? [...limits][0] : undefined;
}

// pareto draws the points that take part in a front and joins those that are on it. Which are is the selector's to say.
function pareto(front, trials, theme) {
  const option = base(theme), at = p => [p.user, p.throughput];
  option.xAxis = axis(theme, 'tok/s a user', {type: 'value', scale: true});
  option.yAxis = axis(theme, front.throughput === 'output_tok_per_s_gpu' ? 'output tok/s a GPU' : 'output tok/s', {type: 'value', min: 0, nameGap: 48});
  option.tooltip.formatter = d => d.data && d.data.lines ? lines(d.data.lines) : undefined;
  option.series = trials.map((t, i) => ({
    type: 'scatter', name: t.label, itemStyle: {color: look(i).colour}, symbol: look(i).symbol,
    data: front.points.filter(p => p.trial === t).map(p => Object.assign({value: at(p), lines: pointLines(t, p.point)}, shape(p.point, i, theme))),
  })).filter(s => s.data.length > 0);
  option.series.push({type: 'line', name: 'front', data: front.points.filter(p => p.pareto).map(at), showSymbol: false, silent: true, lineStyle: {color: theme.quiet, type: 'dotted', width: 2}, itemStyle: {color: theme.quiet}});
  return option;
}

// small is one trial: throughput as bars, median TTFT as a line.
function small(t, theme) {
  const option = base(theme);
  const points = t.points;
  option.grid = {left: 52, right: 52, top: 34, bottom: 28};
  option.legend = Object.assign(option.legend, {itemHeight: 8});
  option.xAxis = axis(theme, '', {type: 'category', data: points.map(p => p.level === null ? '-' : number(p.level))});
  option.yAxis = [axis(theme, '', {type: 'value', splitNumber: 3}), axis(theme, '', {type: 'value', splitNumber: 3, splitLine: {show: false}, axisLabel: {color: theme.front, formatter: seconds}})];
  option.tooltip.formatter = d => lines(pointLines(t, points[d.dataIndex]));
  option.series = [
    {type: 'bar', name: 'output tok/s', data: points.map(p => ({value: p.output_tok_per_s, itemStyle: {color: p.selected ? colours[0] : 'transparent', borderColor: colours[0], borderWidth: 2}})), itemStyle: {color: colours[0]}},
    {type: 'line', name: 'TTFT p50', yAxisIndex: 1, data: points.map(p => typeof time(p, 'ttft_p50_s') === 'number' ? time(p, 'ttft_p50_s') : null), symbol: 'rect', symbolSize: 8, lineStyle: {color: colours[1]}, itemStyle: {color: colours[1]}},
  ];
  return option;
}

// ecdf is the share of ok requests whose TTFT is at most so long.
function ecdf(t, theme) {
  const option = base(theme);
  option.xAxis = axis(theme, 'TTFT', {type: 'log', min: 'dataMin', max: 'dataMax', axisLabel: {color: theme.front, formatter: seconds, hideOverlap: true}});
  option.yAxis = axis(theme, 'share of ok requests', {type: 'value', min: 0, max: 1, nameGap: 44, axisLabel: {color: theme.front, formatter: v => share(v)}});
  option.tooltip.formatter = d => lines([d.seriesName, share(d.value[1]) + ' have a TTFT of at most ' + seconds(d.value[0])]);
  option.series = t.points.filter(p => p.ttft_ecdf_s && p.ttft_ecdf_s.length > 0).map((p, i) => {
    const values = p.ttft_ecdf_s, last = values.length - 1;
    return {
      type: 'line', step: 'end', name: p.label + (p.selected ? ' (selected)' : ''), symbolSize: 5, showSymbol: values.length <= 40, symbol: look(i).symbol,
      lineStyle: {color: look(i).colour, type: look(i).dash, width: p.selected ? 3 : 1.5}, itemStyle: {color: look(i).colour},
      data: values.map((v, k) => [v, last === 0 ? 1 : (k + 1) / (last + 1)]),
    };
  });
  return option;
}

const phases = {queue: 'queue (the client’s caps)', prefill: 'prefill (to the first token)', decode: 'decode', failed: 'failed or cancelled'};

// swimLanes draws each request on its lane: a thin part while it waits for a slot, a half-high one until its first token, a full one after it.
function swimLanes(p, theme) {
  const option = base(theme);
  const rows = p.timeline.rows.filter(r => r[4] !== null);
  option.grid.top = 40;
  option.xAxis = axis(theme, 'seconds', {type: 'value', min: 0, axisLabel: {color: theme.front}});
  option.yAxis = axis(theme, 'lane', {type: 'value', inverse: true, min: -0.5, max: Math.max(...rows.map(r => r[0])) + 0.5, minInterval: 1, nameGap: 40, splitLine: {show: false}, axisLabel: {color: theme.front, formatter: v => Number.isInteger(v) ? String(v) : ''}});
  option.dataZoom = [{type: 'inside', xAxisIndex: 0}, {type: 'inside', yAxisIndex: 0, zoomOnMouseWheel: 'shift'}];
  option.tooltip.formatter = d => {
    const r = rows[d.value[4]];
    return lines([
      r[1] + ' request on lane ' + r[0] + ': ' + r[2], 'dispatched at ' + seconds(r[4]) + ', waited ' + seconds(r[3] === null ? null : r[4] - r[3]),
      'first token after ' + seconds(r[5] === null ? null : r[5] - r[4]), 'ended after ' + seconds(r[6] === null ? null : r[6] - r[4]),
    ]);
  };
  const kinds = {queue: [], prefill: [], decode: [], failed: []};
  rows.forEach((r, i) => {
    const [lane, , status, wanted, sent, first, ended] = r;
    const end = ended === null ? sent : ended;
    if (wanted !== null && sent > wanted) kinds.queue.push([wanted, sent, lane, r[1], i]);
    if (status !== 'ok') kinds.failed.push([sent, end, lane, r[1], i]);
    else if (first === null) kinds.prefill.push([sent, end, lane, r[1], i]);
    else kinds.prefill.push([sent, first, lane, r[1], i]), kinds.decode.push([first, end, lane, r[1], i]);
  });
  const fill = {queue: theme.quiet, prefill: colours[1], decode: colours[0], failed: theme.bad}, height = {queue: 0.2, prefill: 0.45, decode: 0.8, failed: 0.8};
  option.series = Object.keys(kinds).filter(k => kinds[k].length > 0).map(k => ({
    type: 'custom', name: phases[k], data: kinds[k], encode: {x: [0, 1], y: 2}, itemStyle: {color: fill[k]}, clip: true,
    renderItem: (params, api) => {
      const from = api.coord([api.value(0), api.value(2)]), to = api.coord([api.value(1), api.value(2)]), high = Math.max(1, api.size([0, 1])[1] * height[k]);
      const box = {x: from[0], y: from[1] - high / 2, width: Math.max(1, to[0] - from[0]), height: high};
      const area = echarts.graphic.clipRectByRect(box, {x: params.coordSys.x, y: params.coordSys.y, width: params.coordSys.width, height: params.coordSys.height});
      if (!area) return;
      const bar = {type: 'rect', shape: area, style: {fill: fill[k], opacity: api.value(3) === 'measured' ? 1 : 0.45}};
      if (k !== 'failed') return bar;
      bar.style = {fill: 'transparent', stroke: theme.bad, lineWidth: 2};
      return {type: 'group', children: [bar, {type: 'line', shape: {x1: area.x, y1: area.y, x2: area.x + area.width, y2: area.y + area.height}, style: {stroke: theme.bad}}]};
    },
  }));
  return option;
}

// queues is what the service showed of its own queue, on the timeline's clock.
function queues(p, theme) {
  const option = base(theme);
  option.xAxis = axis(theme, 'seconds', {type: 'value', min: 0});
  option.yAxis = axis(theme, 'requests', {type: 'value', min: 0, minInterval: 1, nameGap: 44});
  option.tooltip.trigger = 'axis';
  option.tooltip.formatter = d => lines(['at ' + seconds(d[0].value[0])].concat(d.map(s => s.seriesName + ': ' + number(s.value[1]))));
  option.series = ['running', 'waiting'].map((name, i) => ({
    type: 'line', name, step: 'end', symbol: look(i).symbol, symbolSize: 5, lineStyle: {color: look(i).colour, type: dashes[i]}, itemStyle: {color: look(i).colour},
    data: p.queues.filter(q => q[0] !== null && q[0] >= 0 && q[1 + i] !== null).map(q => [q[0], q[1 + i]]),
  }));
  return option;
}
