// The pages for people work without this. It shows times in the reader's zone,
// and keeps the newest messages fresh while nobody is in the middle of them.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const long = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

function localise(root) {
  for (const e of root.querySelectorAll('time')) {
    e.textContent = long.format(new Date(e.dateTime));
    e.title = e.dateTime;
  }
}

// fields gives times in the filter in the reader's zone, and says that they are.
function fields(form) {
  for (const e of form.querySelectorAll('[data-time]')) {
    if (!e.dataset.time) continue;
    const t = new Date(e.dataset.time);
    e.value = new Date(t - t.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
  }
  for (const e of form.querySelectorAll('label small')) e.textContent = zone;
  form.elements.tz.value = zone;
}

// follow keeps the list fresh.
function follow(list, toggle, news) {
  let on = false;
  let stream = null; // null too while nobody looks
  let lost = false; // it broke off since it was last heard
  let wanted = list.dataset.changes; // what the record is at
  let busy = false;
  let pressed = false; // what is pressed has to be there when it is let go, or it is no click

  const reading = () => {
    const s = getSelection();
    return pressed || (!s.isCollapsed && list.contains(s.anchorNode));
  };

  async function refresh() {
    if (busy || !stream || wanted === list.dataset.changes || document.hidden || reading()) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (new URL(answer.url).pathname === '/login') return location.reload();
      if (!answer.ok) throw new Error(answer.statusText);
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      if (!reading()) replace(page.querySelector('#list'));
    } catch {
      wanted = ''; // the stream comes back with a number when the hub does
    }
    busy = false;
    if (wanted) setTimeout(refresh, 1000);
  }

  function replace(fresh) {
    const known = new Set([...list.querySelectorAll('tbody tr')].map((r) => r.id));
    const at = list.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
    localise(fresh);
    const added = [...fresh.querySelectorAll('tbody tr')].filter((r) => !known.has(r.id));
    for (const r of added) r.classList.add('new');
    list.replaceChildren(...fresh.childNodes);
    list.dataset.changes = fresh.dataset.changes;
    if (at) list.querySelector(`a[href="${CSS.escape(at)}"]`)?.focus();
    if (added.length) news.textContent = added.length === 1 ? 'A new message' : `${added.length} new messages`;
  }

  function set(to) {
    on = to;
    toggle.setAttribute('aria-checked', String(on));
    connect();
  }

  // connect listens while somebody looks: a browser has six connections to one
  // hub, for all its tabs.
  function connect() {
    const wants = on && !document.hidden;
    if (wants === Boolean(stream)) return;
    if (!wants) {
      stream.close();
      stream = null;
      lost = true;
      return;
    }
    stream = new EventSource('/admin/live');
    stream.addEventListener('changed', (e) => {
      if (lost) list.dataset.changes = ''; // a hub that has started again counts anew
      lost = false;
      wanted = e.data;
      refresh();
    });
    stream.addEventListener('error', () => {
      lost = true;
      if (stream.readyState !== EventSource.CLOSED) return; // it comes back by itself
      set(false);
      news.textContent = 'Not live: too many pages are open, or you are logged out.';
    });
  }

  toggle.addEventListener('click', () => set(!on));
  document.addEventListener('visibilitychange', connect);
  document.addEventListener('selectionchange', refresh);
  list.addEventListener('pointerdown', () => { pressed = true; });
  for (const end of ['pointerup', 'pointercancel']) {
    document.addEventListener(end, () => setTimeout(() => { pressed = false; refresh(); }));
  }
  toggle.hidden = false;
  set(true);
}

localise(document);
const filter = document.querySelector('#filter form');
if (filter) fields(filter);
const toggle = document.querySelector('#live');
if (toggle) follow(document.querySelector('#list'), toggle, document.querySelector('#news'));
