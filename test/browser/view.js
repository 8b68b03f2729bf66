// What the page shows, as a person reads it.
(() => {
  const text = (root, selector) => root.querySelector(selector)?.textContent ?? '';
  const bubble = (li) => ({
    key: li.dataset.key ?? '',
    who: li.querySelector('.who')?.firstChild.data ?? '',
    text: text(li, '.text'),
    quoted: text(li, '.quoted'),
    ticks: text(li, '.ticks'),
    foot: text(li, '.foot'),
    note: text(li, '.note'),
    mine: li.classList.contains('mine'),
    deleted: li.classList.contains('gone'),
    reactions: [...li.querySelectorAll('.reaction')].map((r) => r.firstChild.data),
    ask: ask(li.querySelector('.ask')),
    pictures: [...li.querySelectorAll('.picture')].map((i) => ({ name: i.alt, width: i.naturalWidth })),
  });
  const ask = (e) => e && {
    details: text(e, 'details .text'),
    open: e.querySelector('details')?.open ?? false,
    buttons: [...e.querySelectorAll('.options button')].map((b) => ({ label: b.textContent, off: b.disabled, chosen: b.classList.contains('chosen') })),
    answer: e.querySelector('.answer').hidden ? '' : text(e, '.answer'),
  };
  const chat = (name) => [...document.querySelectorAll(`#chat-${name} .row`)].map(bubble);
  const event = (li) => ({
    status: text(li, '.chip'),
    head: text(li, '.head'),
    again: text(li, '.again'),
    content: text(li, '.channel b'),
    channel: text(li, '.channel'),
    salon: li.classList.contains('salon'),
  });
  const agents = {};
  for (const card of document.querySelectorAll('.card')) {
    agents[text(card, 'h3')] = {
      state: text(card, '.state'),
      default: !card.querySelector('.default').hidden,
      online: card.querySelector('.switch').ariaChecked === 'true',
      received: [...card.querySelectorAll('.event')].map(event),
    };
  }
  const status = document.querySelector('#status');
  return {
    state: status?.dataset.state ?? '',
    status: status?.textContent ?? '',
    locked: document.querySelector('#locked')?.hidden === false,
    operator: chat('operator'),
    stranger: chat('stranger'),
    draft: document.querySelector('#chat-operator textarea')?.value ?? '',
    agents,
  };
})();
