'use strict';
// Builds the page from its data. Text is only ever set as text.

const data = JSON.parse(document.getElementById('data').textContent);
const main = document.getElementById('main');
const drawn = []; // {chart, option}: redrawn when the theme changes, resized with the window

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function theme() {
  const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue('--' + name).trim();
  return {front: of('front'), back: of('back'), line: of('line'), quiet: of('quiet'), bad: of('bad')};
}

function section(title, id) {
  const s = element('section');
  s.id = id;
  s.append(element('h2', title));
  main.append(s);
  const link = element('a', title);
  link.href = '#' + id;
  document.getElementById('nav').append(link);
  return s;
}

// figure adds a chart with a caption, a button that saves it, and a note where there is one to make.
function figure(parent, name, option, note, className) {
  const f = element('figure', undefined, className), caption = element('figcaption'), title = element('span', name), save = element('button', 'Save as SVG');
  save.type = 'button';
  caption.append(title, save);
  const box = element('div', undefined, 'chart');
  box.setAttribute('role', 'img');
  box.setAttribute('aria-label', name);
  f.append(caption, box);
  if (note) f.append(element('p', note, 'note'));
  parent.append(f);
  const chart = echarts.init(box, null, {renderer: 'svg'});
  const d = {chart, option, title};
  chart.setOption(option(theme()));
  drawn.push(d);
  save.addEventListener('click', () => {
    const link = element('a');
    link.href = URL.createObjectURL(new Blob([chart.renderToSVGString()], {type: 'image/svg+xml'}));
    link.download = title.textContent.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, '').toLowerCase() + '.svg';
    link.click();
    URL.revokeObjectURL(link.href);
  });
  return {
    element: f,
    show(newName, newOption) {
      title.textContent = newName;
      box.setAttribute('aria-label', newName);
      d.option = newOption;
      chart.setOption(newOption(theme()), true);
    },
  };
}

// table adds rows that sort by a click on a heading. A column is {name, of, write, text}.
function table(parent, caption, columns, rows, classOf) {
  const box = element('div', undefined, 'scroll'), t = element('table'), head = element('tr'), body = element('tbody');
  box.tabIndex = 0;
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', caption);
  t.append(element('caption', caption));
  columns.forEach((c, i) => {
    const th = element('th', undefined, c.text ? 'text' : ''), button = element('button', c.name);
    th.scope = 'col';
    button.type = 'button';
    button.addEventListener('click', () => {
      const down = th.getAttribute('aria-sort') === 'ascending';
      head.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'));
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      fill([...rows].sort((a, b) => order(c.of(a), c.of(b)) * (down ? -1 : 1)));
    });
    th.append(button);
    head.append(th);
  });
  const thead = element('thead');
  thead.append(head);
  t.append(thead, body);
  box.append(t);
  parent.append(box);
  function fill(sorted) {
    body.replaceChildren(...sorted.map(row => {
      const tr = element('tr', undefined, classOf(row));
      columns.forEach(c => tr.append(element('td', (c.write || (v => v))(c.of(row)), c.text ? 'text' : '')));
      return tr;
    }));
  }
  fill(rows);
}

// order puts what is not known last.
function order(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return a < b ? -1 : 1;
}

const several = data.runs.length > 1;
const trials = data.runs.flatMap(r => r.trials.map(t => Object.assign(t, {run: r, label: several ? r.name + ' ' + r.run_id + (r.trials.length > 1 ? ', ' + t.trial_name : '') : t.trial_name})));
const rows = trials.flatMap(t => t.points.map(p => Object.assign({trial: t}, {point: p})));
for (const front of data.fronts) for (const p of front.points) p.trial = trials[p.side], p.point = p.trial.points.find(q => q.point_id === p.point_id);
const withPoints = trials.filter(t => t.points.length > 0);

function verdicts() {
  const s = section('Verdict', 'verdict');
  for (const r of data.runs) {
    if (several) s.append(element('h3', r.name + ' ' + r.run_id));
    s.append(element('p', 'Run ' + r.run_id + ': ' + r.status + ', begun ' + r.created_at, 'quiet'));
    if (r.across) s.append(element('p', r.across, 'verdict'));
    for (const t of r.trials) s.append(element('p', t.verdict, 'verdict' + (t.status === 'completed' ? '' : ' failed')));
    for (const u of r.unread) s.append(element('p', 'Not read: ' + u, 'verdict failed'));
  }
}

// byAxis are the trials whose points differ in the same load: those that one chart can have.
function byAxis() {
  const groups = new Map();
  for (const t of withPoints) groups.set(t.axis, (groups.get(t.axis) || []).concat(t));
  return [...groups.values()];
}

function curves() {
  const s = section('Load', 'load');
  s.append(element('p', 'A large diamond is a selected point. A hollow one can’t be chosen or does not meet a limit; point at it for the reason.', 'quiet'));
  const box = element('div', undefined, 'charts');
  s.append(box);
  for (const group of byAxis()) {
    const named = byAxis().length > 1 ? ' (' + group[0].axis.replaceAll('_', ' ') + ')' : '';
    figure(box, 'Output throughput' + named, th => against(group, th, p => p.output_tok_per_s, 'output tok/s', number));
    figure(box, 'Time to first token, p50' + named, th => against(group, th, p => time(p, 'ttft_p50_s'), 'TTFT p50', seconds, ttftLimit(group)));
  }
  for (const front of data.fronts) figure(box, 'Throughput against speed for one user', th => pareto(front, withPoints, th), 'Eligible points. The dotted line joins those that no other point beats in one figure without losing in the other.');
}

function multiples() {
  if (withPoints.length < 2) return;
  const s = section('Trials', 'trials'), box = element('div', undefined, 'charts small');
  s.append(box);
  for (const t of withPoints) figure(box, t.label, th => small(t, th));
}

// chooser adds a list to choose one of items from; the first wanted one is chosen at first.
function chooser(parent, label, items, wanted, name, chosen) {
  const box = element('label', label + ' '), list = element('select');
  items.forEach((item, i) => {
    const o = element('option', name(item));
    o.value = String(i);
    list.append(o);
  });
  list.value = String(Math.max(0, items.findIndex(wanted)));
  list.addEventListener('change', () => chosen(items[Number(list.value)]));
  box.append(list);
  parent.append(box);
  return items[Number(list.value)];
}

function requests() {
  const shown = withPoints.filter(t => t.points.some(p => p.ttft_ecdf_s && p.ttft_ecdf_s.length > 0));
  const timed = rows.filter(r => r.point.timeline && r.point.timeline.rows.length > 0);
  if (shown.length === 0 && timed.length === 0) return;
  const s = section('Requests', 'requests'), box = element('div', undefined, 'charts');
  if (shown.length > 0) {
    let first = shown[0], f;
    if (shown.length > 1) first = chooser(s, 'Distribution of trial', shown, t => t.trial_id === t.run.winner, t => t.label, t => f.show('TTFT of ' + t.label, th => ecdf(t, th)));
    s.append(box);
    f = figure(box, 'TTFT of ' + first.label, th => ecdf(first, th), 'Ok requests of the measured phase, all repeats.', 'wide');
  }
  if (timed.length > 0) {
    const name = r => r.trial.label + ', ' + r.point.label, note = element('p', '', 'note');
    const told = r => { const t = r.point.timeline; note.textContent = 'First repeat; pale: not of the measured phase.' + (t.rows.length < t.of ? ' The first ' + t.rows.length + ' of ' + t.of + ' requests.' : '') + ' Turn the wheel over it to look closer.'; };
    let f, queue;
    const first = chooser(s, 'Timeline of point', timed, r => r.point.selected && r.trial.trial_id === r.trial.run.winner, name, r => { told(r); f.show('Requests of ' + name(r), th => swimLanes(r.point, th)); if (queue) queue.show('Queue of the service at ' + name(r), th => queues(r.point, th)); });
    s.append(box);
    f = figure(box, 'Requests of ' + name(first), th => swimLanes(first.point, th), undefined, 'wide');
    told(first);
    f.element.append(note);
    timed.forEach(r => { r.point.queues = r.point.queues || []; });
    if (timed.some(r => r.point.queues.length > 0)) queue = figure(box, 'Queue of the service at ' + name(first), th => queues(first.point, th), 'By its own metrics, once a second.', 'wide');
  }
}

function figuresTable() {
  const s = section('Figures', 'figures');
  const columns = [
    {name: 'point', of: r => r.trial.label + ', ' + r.point.label, text: true},
    {name: 'chosen', of: r => r.point.selected ? r.point.feasible ? '> selected' : '> selected, * above a limit' : r.point.feasible ? '' : r.point.eligible ? '* above a limit' : 'x not eligible', text: true},
    {name: 'ok/issued', of: r => r.point.requests_ok, write: undefined},
    {name: 'in flight', of: r => r.point.steady_mean_requests_in_flight ?? r.point.mean_requests_in_flight, write: number},
    {name: 'tok/s', of: r => r.point.output_tok_per_s, write: number},
    {name: 'tok/s a user', of: r => r.point.output_tok_per_s_user, write: number},
    {name: 'TTFT p50', of: r => time(r.point, 'ttft_p50_s'), write: seconds},
    {name: 'p95', of: r => time(r.point, 'ttft_p95_s'), write: seconds},
    {name: 'p99', of: r => time(r.point, 'ttft_p99_s'), write: seconds},
    {name: 'TPOT p50', of: r => time(r.point, 'tpot_p50_s'), write: seconds},
    {name: 'total p50', of: r => time(r.point, 'total_time_p50_s'), write: seconds},
  ];
  columns[2] = {name: 'ok/issued', of: r => r.point.requests_ok + '/' + r.point.requests_issued};
  if (rows.some(r => r.point.output_tok_per_s_gpu !== null)) columns.push({name: 'tok/s a GPU', of: r => r.point.output_tok_per_s_gpu, write: number});
  if (rows.some(r => r.point.cost_per_million_output_tokens !== null)) columns.push({name: 'cost a million tokens', of: r => r.point.cost_per_million_output_tokens, write: number});
  if (rows.some(r => r.point.server_engine !== null)) {
    columns.push({name: 'waiting in the service', of: r => r.point.server_requests_waiting_mean, write: number}, {name: 'KV cache', of: r => r.point.server_kv_cache_usage_max, write: share},
      {name: 'cache hits', of: r => r.point.server_prefix_cache_hit_ratio, write: share}, {name: 'preemptions', of: r => r.point.server_preemptions, write: number},
      {name: 'its mean TTFT', of: r => r.point.server_ttft_mean_s, write: seconds});
  }
  if (rows.some(r => r.point.gpu_power_mean_w !== null || r.point.gpu_utilization_mean !== null)) {
    columns.push({name: 'GPU busy', of: r => r.point.gpu_utilization_mean, write: share}, {name: 'GPU memory, GiB', of: r => r.point.gpu_memory_used_max_bytes === null ? null : r.point.gpu_memory_used_max_bytes / 2 ** 30, write: number},
      {name: 'power, W', of: r => r.point.gpu_power_mean_w, write: number}, {name: 'energy a token, J', of: r => r.point.gpu_energy_per_output_token_j, write: number});
  }
  if (rows.some(r => r.point.reasons.length > 0)) columns.push({name: 'why not', of: r => r.point.reasons.join('; '), text: true});
  table(s, 'Points: medians over repeats', columns, rows, r => r.point.selected ? 'selected' : '');
  if (rows.some(r => r.point.limits.length > 0 && r.point.requests_ok < r.point.requests_issued)) s.append(element('p', 'A time that has a limit counts failed requests as infinite.', 'quiet'));
  table(s, 'How well the client kept up', [
    {name: 'point', of: r => r.trial.label + ', ' + r.point.label, text: true},
    {name: 'scheduling lag p99', of: r => r.point.client_lag_p99_s, write: seconds},
    {name: 'CPU share', of: r => r.point.client_cpu_share, write: share},
    {name: 'longest GC pause', of: r => r.point.client_gc_pause_max_s, write: seconds},
    {name: 'new connections', of: r => r.point.client_new_connections, write: number},
    {name: 'limited', of: r => r.point.client_limited ? 'yes' : 'no', text: true},
  ], rows, () => '');
}

function specification() {
  const s = section('Specification', 'specification');
  for (const r of data.runs) {
    if (several) s.append(element('h3', r.name + ' ' + r.run_id));
    const set = (r.preset.overrides || []).map(o => ' --set ' + "'" + o.replaceAll("'", "'\\''") + "'").join('');
    s.append(element('p', 'Save this as ' + r.preset.filename + ', then, to repeat the run:'), element('pre', 'sweetspot run ' + r.preset.filename + set), element('pre', r.preset.text));
    for (const t of r.trials) {
      const d = element('details');
      d.append(element('summary', 'Trial ' + t.trial_name + ' with all defaults'), element('pre', JSON.stringify(t.spec, null, 2)));
      s.append(d);
    }
  }
}

verdicts();
if (withPoints.length > 0) {
  curves();
  multiples();
  requests();
  figuresTable();
}
specification();

const redraw = () => drawn.forEach(d => d.chart.setOption(d.option(theme()), true));
const resize = () => drawn.forEach(d => d.chart.resize());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
matchMedia('print').addEventListener('change', () => { redraw(); resize(); });
new ResizeObserver(resize).observe(main);
