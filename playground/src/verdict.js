// The verdict: allowed or blocked, the three profiles, the findings with their traces, and the construct's page.
import { fill, h, inline, printable, prose } from './dom.js';
import { set, state } from './state.js';

const PROFILES = {
  balanced: 'The default: some unknowns on plain data pass',
  strict: 'For input that you distrust: what is not proven is blocked',
  seed: 'Six substrings and literal keys, as a filter does it',
};

/** The line below the editor. */
export function verdictBar() {
  const pill = h('strong', { class: 'pill' });
  const message = h('span', { class: 'message' });
  const time = h('span', { class: 'time' });
  const bar = h('div', { class: 'verdict', role: 'status', 'aria-live': 'polite' }, pill, message, time);
  return {
    bar,
    show(answer) {
      bar.dataset.state = answer.allowed ? 'allowed' : 'blocked';
      fill(pill, answer.allowed ? 'Allowed' : 'Blocked');
      fill(message, answer.allowed ? allowance(answer) : [h('b', {}, answer.about ?? answer.code), ` ${answer.message}`]);
      fill(time, `${answer.elapsed_ms.toFixed(1)} ms`);
    },
    fail(error) {
      bar.dataset.state = 'unknown';
      fill(pill, 'No verdict');
      fill(message, error.message);
      fill(time);
    },
  };
}

function allowance({ withheld, exception, findings }) {
  if (withheld) return `Audit mode lets it through; enforced, it would be denied with ${withheld}.`;
  if (exception) return `Permitted by the exception ${exception} of the policy.`;
  const audited = findings.length;
  return audited ? `Findings that the policy only audits: ${audited}.` : 'It reaches nothing that the policy blocks.';
}

/** The three profiles: a group of radio buttons that show their verdicts. */
export function profileCards() {
  const cards = Object.entries(PROFILES).map(([name, about]) => {
    const radio = h('input', { type: 'radio', name: 'profile', value: name, on: { change: () => set({ profile: name }) } });
    const said = h('span', { class: 'said' }, '…');
    return { name, radio, said, card: h('label', { class: 'profile', title: about }, radio, h('span', { class: 'name' }, name), said) };
  });
  return {
    group: h('fieldset', { class: 'profiles' }, h('legend', {}, 'Profiles'), cards.map(({ card }) => card)),
    show({ profiles }) {
      for (const { name, radio, said, card } of cards) {
        const { allowed, code, about } = profiles[name];
        radio.checked = state.profile === name;
        card.dataset.state = allowed ? 'allowed' : 'blocked';
        fill(said, allowed ? 'allowed' : (about ?? code));
      }
    },
  };
}

/** The findings; `choose` shows the trace of one in the editor, `tryCode` opens a text there. */
export function findingsPanel(constructs, { choose, tryCode, goTo }) {
  const panel = h('section', {});
  let chosenName = null;

  function show(answer) {
    const { findings } = answer;
    const chosen = findings.find((each) => each.name === chosenName && each.steps.length) ?? findings.find((each) => each.steps.length) ?? findings[0] ?? null;
    choose(findings, chosen);
    const list = findings.map((finding) => card(finding, finding === chosen, () => {
      chosenName = finding.name;
      show({ ...answer, findings: [finding, ...findings.filter((each) => each !== finding)].sort((a, b) => findings.indexOf(a) - findings.indexOf(b)) });
    }));
    fill(
      panel,
      answer.rewrites.length ? rewrite(answer) : null,
      findings.length ? h('ol', { class: 'findings' }, list) : h('p', { class: 'empty' }, answer.allowed ? 'Nothing to show: no construct that the policy knows is reached.' : [h('b', {}, answer.code), ' ', answer.message]),
      answer.omitted ? h('p', { class: 'note' }, `Findings that are not listed: ${answer.omitted}.`) : null,
      answer.hint ? h('p', { class: 'note' }, answer.hint) : null,
      answer.next_actions.length ? h('div', {}, h('h2', {}, 'Next actions for the agent'), h('ul', { class: 'plain' }, answer.next_actions.map((each) => h('li', {}, each)))) : null,
      chosen?.construct ? page(constructs.get(chosen.construct)) : null,
    );
  }

  function card(finding, isChosen, pick) {
    const place = finding.line ? `line ${finding.line}, column ${finding.column}` : 'the whole payload';
    const head = h('button', { type: 'button', class: 'pick', 'aria-pressed': String(isChosen), on: { click: pick } }, h('b', {}, finding.name), h('span', { class: 'where' }, place), finding.blocks ? null : h('span', { class: 'tag' }, 'only audited'));
    const steps = isChosen && finding.steps.length
      ? h('ol', { class: 'steps' }, finding.steps.map((step, number) => h('li', {}, h('button', { type: 'button', class: 'link', disabled: !step.span, on: { click: () => goTo(step.span) } }, h('span', { class: 'step', 'aria-hidden': 'true' }, String(number + 1)), h('span', {}, ...inline(step.note))))))
      : null;
    return h('li', { class: isChosen ? 'finding-card chosen' : 'finding-card' }, head, steps);
  }

  function rewrite({ rewrites }) {
    const apply = () => tryCode(rewrites.reduceRight((text, { span, text: to }) => text.slice(0, span[0]) + to + text.slice(span[1]), state.code));
    return h('div', { class: 'callout' }, h('p', {}, 'There is a rewrite that says the same and is allowed:'), rewrites.map(({ span, text }) => h('pre', { class: 'diff', tabindex: 0 }, h('del', {}, printable(state.code.slice(...span))), '\n', h('ins', {}, printable(text)))), h('button', { type: 'button', class: 'primary', on: { click: apply } }, 'Apply the rewrite'));
  }

  function page(construct) {
    if (!construct) return null;
    const body = construct.page.split('\n').slice(1).join('\n').trim();
    return h(
      'article',
      { class: 'page' },
      h('h2', {}, construct.label, ' ', h('span', {}, construct.title)),
      prose(body),
      construct.use_instead.length ? h('div', {}, h('h3', {}, 'Use instead'), h('ul', { class: 'plain' }, construct.use_instead.map((each) => h('li', {}, ...inline(each))))) : null,
      construct.examples.slice(0, 2).map((twins) => h('div', { class: 'twins' }, example('Blocked', twins.blocked, twins, tryCode), example('Its twin passes', twins.allowed, twins, tryCode))),
    );
  }

  return { panel, show };
}

function example(title, code, { target, shape }, tryCode) {
  return h('figure', {}, h('figcaption', {}, title, h('button', { type: 'button', class: 'link', on: { click: () => tryCode(code, { target, shape: shape ?? '', sink: '' }) } }, 'open')), h('pre', { tabindex: 0 }, printable(code.length > 400 ? `${code.slice(0, 400)}…` : code)));
}
