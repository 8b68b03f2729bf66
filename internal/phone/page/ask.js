// A bubble that asks something: a request for permission, with Allow and Deny,
// or a question, with its choices. The hub says which bubbles do; words never
// make one of a bubble.

import { $, make } from './dom.js';

// options are the buttons, each with the answer in words that it stands for.
function options({ code, choices = [] }) {
  if (code) return [['Allow', 'yes'], ['Deny', 'no']];
  return choices.map((choice, i) => [`${i + 1}. ${choice}`, String(i + 1)]);
}

// split parts the text of b into what is shown at once and the details: of a
// request for permission, what follows the first line that the agent has to say
// of it; of a question, what its buttons say.
export function split(b) {
  const text = b.text ?? '';
  if (b.asks?.code) {
    const lines = text.split('\n');
    return [lines.slice(0, 2).join('\n').trim(), lines.slice(2).join('\n').trim()];
  }
  const at = b.asks?.choices ? text.lastIndexOf(`\n\n1. ${b.asks.choices[0]}\n`) : -1;
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at).trim()];
}

// newAsk makes what is below such a bubble. A tap on a button calls answer with
// the words that it stands for.
export function newAsk(b, who, answer) {
  const buttons = make('div', 'options', ...options(b.asks).map(([label, words]) => {
    const e = make('button', 'button', label);
    e.type = 'button';
    e.value = words;
    e.addEventListener('click', () => answer(words));
    return e;
  }));
  buttons.role = 'group';
  buttons.ariaLabel = `Answer ${who}`;
  return make('div', 'ask', b.asks.code ? details(split(b)[1]) : '', buttons, make('p', 'answer soft'));
}

function details(text) {
  return make('details', '',
    make('summary', '', 'Details ', make('span', 'soft', text.split('\n')[0].replace('│ ', ''))),
    make('p', 'text', text));
}

// showAnswer shows what was answered. Meanwhile, and while an answer is on its
// way, the buttons are off.
export function showAnswer(ask, asks, sending) {
  let chosen = asks.answer;
  for (const e of ask.querySelectorAll('.options button')) {
    e.disabled = Boolean(asks.answer || sending);
    e.classList.toggle('chosen', e.value === asks.answer);
    if (e.value === asks.answer) chosen = e.textContent;
  }
  const says = $('.answer', ask);
  says.hidden = !asks.answer;
  says.textContent = `You answered: ${chosen}`;
}
