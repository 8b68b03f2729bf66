// The page of the demo's phone. The server's stream says all that there is to
// show: first everything, then each change. What is posted shows when it comes
// back on the stream; until then a text waits as a pale bubble.

import { newAsk, showAnswer, split } from './ask.js';
import { $, make, unseen } from './dom.js';

const emojis = ['👍', '👎', '❤️', '🎉']; // one row at 360 px
const most = { bubbles: 300, events: 100, pictures: 4 }; // in a list, where older ones leave; of a message
const retryAfter = 700; // ms
const pictureBytes = 160_000; // of one picture: four and a long text fit in one request

const clock = (ms, seconds) => new Date(ms).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: seconds });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const announce = (text) => { $('#announce').textContent = text; };

// call posts body and returns {status, error}; status 0 means that nobody answered.
async function call(path, body) {
  try {
    const r = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    return { status: r.status, error: r.ok ? '' : (await r.json()).error };
  } catch {
    return { status: 0, error: 'the hub does not answer' };
  }
}

// ---- the outbox: what was written and is not in the hub's record yet

const outbox = {
  posts: [],
  busy: false,

  add(post) {
    this.posts.push({ id: crypto.randomUUID(), ...post });
    this.flush();
    return this.posts.at(-1);
  },

  // flush posts one after the other, each until it was answered, and leaves
  // off while the hub is down. The id lets the hub take a post once, however
  // often it comes.
  async flush() {
    if (this.busy) return;
    this.busy = true;
    while (this.posts.length > 0 && hub.state !== 'down') {
      const { status, error } = await call('/phone/messages', this.posts[0]);
      if ([0, 408, 429, 503].includes(status)) {
        hub.show();
        await pause(retryAfter);
        continue;
      }
      const post = this.posts.shift();
      if (error) chats[post.chat].refused(post, error);
    }
    this.busy = false;
    hub.show();
  },
};

// ---- a chat: bubbles and the composer

class Chat {
  constructor(name) {
    this.name = name;
    this.panel = $(`#chat-${name}`);
    this.panel.prepend($('#chat-parts').content.cloneNode(true));
    this.list = $('.list', this.panel);
    this.hint = $('.hint', this.panel);
    this.list.after(this.hint);
    this.items = new Map(); // key → {data, li}
    this.waiting = new Map(); // post id → {data, li}
    this.behind = false; // to be scrolled to the end when the toolbar closes
    this.composer = new Composer(this, $('form', this.panel));
    this.list.addEventListener('click', (e) => {
      if (!String(getSelection())) this.open(e.target.closest('.bubble')); // who selects text wants to copy it
    });
    this.list.addEventListener('keydown', (e) => this.key(e));
    this.list.addEventListener('scroll', () => actions.close(), { passive: true });
  }

  who(id) {
    if (id === this.name) return 'You';
    return id || 'Aldis';
  }

  // load shows a snapshot, and returns how many messages it has lost.
  load(bubbles) {
    const keys = new Set(bubbles.map((b) => b.key));
    const first = Number(bubbles[0]?.key ?? 0);
    let lost = 0;
    for (const [key, item] of this.items) {
      if (keys.has(key)) continue;
      if (Number(key) >= first) lost++;
      item.li.remove();
      this.items.delete(key);
    }
    bubbles.forEach((b) => this.put(b));
    this.toEnd();
    return lost;
  }

  // put shows a bubble, new or changed.
  put(b) {
    const atEnd = this.behind || this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 80;
    const li = this.items.get(b.key)?.li ?? this.waiting.get(b.post)?.li ?? make('li', 'row');
    const fresh = !this.items.has(b.key);
    this.waiting.delete(b.post);
    this.items.set(b.key, { data: b, li });
    this.draw(li, b);
    li.dataset.key = b.key;
    if (fresh) this.place(li, Number(b.key));
    if (b.mine && (b.quote || this.name === 'stranger')) this.hint.hidden = true;
    if (b.quote) this.redraw(b.quote.key); // it may be answered by this
    if (fresh && atEnd) this.toEnd();
    return fresh;
  }

  // place puts li where its key belongs, before what waits to be sent.
  place(li, key) {
    let before = this.list.lastElementChild;
    while (before && (before === li || !(Number(before.dataset.key) < key))) before = before.previousElementSibling;
    if (before) before.after(li);
    else this.list.prepend(li);
    while (this.items.size > most.bubbles) {
      const [oldest, item] = this.items.entries().next().value;
      item.li.remove();
      this.items.delete(oldest);
    }
    if (!this.list.contains(document.activeElement)) this.current($('.row:last-child .bubble', this.list));
  }

  redraw(key) {
    const item = this.items.get(key);
    if (item) this.draw(item.li, item.data);
  }

  draw(li, b) {
    const bubble = $('.bubble', li) ?? make('div', 'bubble');
    li.classList.toggle('mine', b.mine);
    li.classList.toggle('waiting', !b.key);
    li.classList.toggle('gone', Boolean(b.deleted));
    if (!bubble.hasAttribute('role')) {
      bubble.tabIndex = -1;
      bubble.setAttribute('role', 'button');
      bubble.ariaExpanded = 'false';
    }
    bubble.ariaDisabled = String(Boolean(b.deleted));
    const who = this.who(b.mine ? this.name : b.agent);
    bubble.replaceChildren(
      b.mine ? unseen('You: ') : make('span', 'who', who, unseen(': ')),
      b.quote ? make('span', 'quoted', make('b', '', this.who(b.quote.who)), ' ', b.quote.text || 'a picture') : '',
      ...(b.pictures ?? []).map((p) => this.picture(p)),
      make('span', 'text', b.deleted ? 'Deleted' : split(b)[0]),
      this.foot(b),
    );
    const reactions = (b.reactions ?? []).map((r) => make('span', 'reaction', r.emoji, unseen(` from ${this.who(r.who)}`)));
    if (bubble.parentElement !== li) li.append(bubble); // once: what is moved loses the focus
    const ask = this.ask(li, b);
    for (const e of [...li.children]) if (e !== bubble && e !== ask) e.remove();
    if (reactions.length > 0) li.append(make('div', 'reactions', ...reactions));
    if (b.dropped) li.append(make('p', 'note', 'The gate kept this out: no agent heard of it, and nobody is told.'));
  }

  // ask returns what is below a bubble that asks something, made once: details
  // that are open stay so.
  ask(li, b) {
    li.classList.toggle('asks', Boolean(b.asks));
    if (!b.asks) return null;
    let ask = $('.ask', li);
    if (!ask) li.append(ask = newAsk(b, this.who(b.agent), (words) => this.answer(b.key, words)));
    const sending = [...this.items.values(), ...this.waiting.values()].some(({ data }) => data.quote?.key === b.key && data.mine && !data.ticks);
    showAnswer(ask, b.asks, sending);
    return ask;
  }

  // answer posts what a button stands for, as if it had been typed. The button
  // is off then: the focus goes to what was answered.
  answer(key, words) {
    this.wait(outbox.add({ chat: this.name, kind: 'text', text: words, quote: key }));
    this.redraw(key);
    const bubble = $('.bubble', this.items.get(key).li);
    this.current(bubble);
    bubble.focus({ preventScroll: true });
  }

  picture(p) {
    const img = make('img', 'picture');
    img.src = p.url ?? `/phone/files/${encodeURIComponent(p.id)}`;
    img.alt = p.name || 'picture';
    return img;
  }

  foot(b) {
    const ticks = ['', '✓', '✓✓'][b.ticks ?? 0];
    const says = ['being sent', 'recorded by the hub', 'handed to an agent'][b.ticks ?? 0];
    const mark = make('span', b.ticks === 2 ? 'ticks read' : 'ticks', ticks || '◷');
    mark.ariaHidden = 'true';
    mark.title = says;
    return make('span', 'foot', b.edited ? 'edited ' : '', clock(Number(b.key ?? Date.now())), b.mine ? mark : '', b.mine ? unseen(`, ${says}`) : '');
  }

  // wait shows a post that is on its way.
  wait(post, pictures) {
    const li = make('li', 'row');
    const data = { mine: true, text: post.text, quote: this.quoteOf(post.quote), pictures };
    this.draw(li, data);
    this.waiting.set(post.id, { data, li });
    this.list.append(li);
    this.current($('.bubble', li));
    this.toEnd();
  }

  quoteOf(key) {
    const b = this.items.get(key)?.data;
    return b && { key, who: b.mine ? this.name : b.agent, text: b.text };
  }

  refused(post, error) {
    this.waiting.get(post.id)?.li.remove();
    this.waiting.delete(post.id);
    this.redraw(post.quote);
    this.composer.complain(`Not sent: ${error}`, post);
  }

  // toEnd scrolls to the newest bubble; not away from under the toolbar.
  toEnd() {
    this.behind = actions.isOpen();
    if (!this.behind) this.list.scrollTop = this.list.scrollHeight;
  }

  // current makes bubble the one that the Tab key reaches.
  current(bubble) {
    if (!bubble) return;
    const old = $('.bubble[tabindex="0"]', this.list);
    if (old) old.tabIndex = -1;
    bubble.tabIndex = 0;
  }

  open(bubble) {
    const b = this.items.get(bubble?.parentElement.dataset.key)?.data;
    if (!b || b.deleted) return;
    this.current(bubble);
    bubble.focus(); // where the focus returns to
    actions.open(this, b, bubble);
  }

  key(e) {
    const bubbles = [...this.list.querySelectorAll('.bubble')];
    const at = bubbles.indexOf(e.target);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: bubbles.length - 1 }[e.key];
    if (at < 0) return;
    if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault();
      this.open(e.target);
    } else if (bubbles[to]) {
      e.preventDefault();
      this.current(bubbles[to]);
      bubbles[to].focus();
    }
  }
}

class Composer {
  constructor(chat, form) {
    Object.assign(this, { chat, form, quoted: null, edited: null, pictures: [] });
    this.text = $('textarea', form);
    this.context = $('.context', form);
    this.thumbs = $('.thumbs', form);
    this.error = $('.error', form);
    form.addEventListener('submit', (e) => { e.preventDefault(); this.send(); });
    form.addEventListener('keydown', (e) => this.key(e));
    $('button', this.context).addEventListener('click', () => this.reset());
    $('input[type=file]', form).addEventListener('change', (e) => this.attach(e.target));
  }

  key(e) {
    if (e.key === 'Escape') this.reset();
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing || e.target !== this.text) return;
    e.preventDefault();
    this.send();
  }

  reply(b) {
    this.quoted = b;
    this.edited = null;
    this.about(`Reply to ${this.chat.who(b.mine ? this.chat.name : b.agent)}`, b.text || 'a picture');
  }

  edit(b) {
    this.edited = b;
    this.quoted = null;
    this.text.value = b.text;
    this.about('Edit', b.text);
  }

  about(title, text) {
    $('b', this.context).textContent = title;
    $('span', this.context).textContent = text;
    this.context.hidden = false;
    this.text.focus();
  }

  // reset forgets what is answered or edited. A draft stays.
  reset() {
    if (this.edited) this.text.value = '';
    this.quoted = this.edited = null;
    this.context.hidden = this.error.hidden = true;
    this.text.focus();
  }

  send() {
    const text = this.text.value.trim();
    if (!text && (this.edited || this.pictures.length === 0)) return;
    const chat = this.chat.name;
    if (this.edited) {
      outbox.add({ chat, kind: 'edit', target: this.edited.key, text });
    } else {
      const pictures = this.pictures.splice(0);
      const post = outbox.add({ chat, kind: 'text', text, quote: this.quoted?.key, pictures: pictures.map(({ name, data }) => ({ name, data })) });
      this.chat.wait(post, pictures);
    }
    this.text.value = '';
    this.showThumbs();
    this.reset();
  }

  // complain says why something was not sent, and gives its words back.
  complain(error, post) {
    if (post?.kind === 'text' && !this.text.value) this.text.value = post.text;
    this.error.textContent = error;
    this.error.hidden = false;
  }

  async attach(input) {
    const room = most.pictures - this.pictures.length;
    if (input.files.length > room) this.complain(`A message has at most ${most.pictures} pictures.`);
    for (const file of [...input.files].slice(0, room)) {
      try {
        this.pictures.push(await scaled(file));
      } catch {
        this.complain(`${file.name} is not a picture that this browser can read.`);
      }
    }
    input.value = '';
    this.showThumbs();
  }

  showThumbs() {
    this.thumbs.hidden = this.pictures.length === 0;
    this.thumbs.replaceChildren(...this.pictures.map((p) => {
      const drop = make('button', 'icon', '✕');
      drop.type = 'button';
      drop.ariaLabel = `Remove ${p.name}`;
      drop.addEventListener('click', () => {
        this.pictures.splice(this.pictures.indexOf(p), 1);
        this.showThumbs();
      });
      return make('li', '', this.chat.picture(p), drop);
    }));
  }
}

// scaled returns a picture small enough to post: {name, url, data}.
async function scaled(file) {
  const image = await createImageBitmap(file);
  for (let edge = 1280; ; edge = Math.round(edge * 0.75)) {
    const ratio = Math.min(1, edge / Math.max(image.width, image.height));
    const canvas = make('canvas');
    canvas.width = Math.max(1, image.width * ratio);
    canvas.height = Math.max(1, image.height * ratio);
    const context = canvas.getContext('2d');
    context.fillStyle = '#fff'; // JPEG has no transparency
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const url = canvas.toDataURL('image/jpeg', 0.8);
    const data = url.slice(url.indexOf(',') + 1);
    if (data.length < pictureBytes || edge < 64) return { name: file.name, url, data };
  }
}

// ---- the toolbar of a bubble

const actions = {
  bar: $('#actions'),

  open(chat, b, bubble) {
    const mine = b.reactions?.find((r) => r.who === chat.name)?.emoji;
    const react = (emoji) => this.button(emoji, `React with ${emoji}`, () => (
      outbox.add({ chat: chat.name, kind: 'reaction', quote: b.key, text: emoji, removed: emoji === mine })), emoji === mine);
    this.bar.replaceChildren(
      this.button('Reply', '', () => chat.composer.reply(b)),
      ...emojis.map(react),
      ...(b.mine && b.text ? [this.button('Edit', '', () => chat.composer.edit(b))] : []),
      ...(b.mine ? [this.button('Delete', '', () => outbox.add({ chat: chat.name, kind: 'deletion', target: b.key }))] : []),
    );
    this.anchor = bubble;
    this.bar.showPopover();
    this.position(bubble.getBoundingClientRect());
    this.bar.firstElementChild.focus();
  },

  button(text, label, act, pressed) {
    const e = make('button', label ? 'emoji' : '', text);
    e.type = 'button';
    e.tabIndex = text === 'Reply' ? 0 : -1;
    if (label) {
      e.ariaLabel = label;
      e.ariaPressed = String(pressed);
    }
    e.addEventListener('click', () => { this.close(); act(); });
    return e;
  },

  // position puts the bar above the bubble, or below it where there is no room.
  position(at) {
    const { offsetWidth: width, offsetHeight: height } = this.bar;
    const top = at.top > height + 12 ? at.top - height - 6 : Math.min(at.bottom + 6, innerHeight - height - 8);
    this.bar.style.top = `${top}px`;
    this.bar.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  },

  isOpen() { return this.bar.matches(':popover-open'); },
  close() { if (this.isOpen()) this.bar.hidePopover(); },

  start() {
    this.bar.addEventListener('keydown', (e) => rove(e, [...this.bar.children]));
    this.bar.addEventListener('beforetoggle', (e) => { this.anchor.ariaExpanded = String(e.newState === 'open'); });
    this.bar.addEventListener('toggle', () => Object.values(chats).forEach((c) => { if (c.behind) c.toEnd(); }));
    addEventListener('resize', () => this.close());
  },
};

// rove moves the focus among buttons by the arrow keys, and returns where to.
function rove(e, buttons) {
  const at = buttons.indexOf(document.activeElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 }[e.key];
  if (to === undefined) return null;
  e.preventDefault();
  const next = buttons.at(to % buttons.length);
  buttons.forEach((b) => { b.tabIndex = b === next ? 0 : -1; });
  next.focus();
  return next;
}

// ---- an agent: its state, and what it received

class Agent {
  constructor(name) {
    this.name = name;
    this.card = $('#agent-parts').content.cloneNode(true).firstElementChild;
    this.items = new Map(); // id → li
    this.switch = $('.switch', this.card);
    $('h3', this.card).textContent = name;
    $('.scroll', this.card).ariaLabel = `Received by ${name}`;
    this.switch.ariaLabel = `${name} is on line`;
    this.switch.addEventListener('click', () => this.toggle());
    $('#agents').append(this.card);
    $('#nobody').hidden = true;
    this.show({ state: 'gone' });
  }

  show(a) {
    const chip = $('.state', this.card);
    chip.textContent = a.state || 'gone';
    chip.dataset.state = a.state || 'gone';
    $('.default', this.card).hidden = !a.default;
    $('.none', this.card).textContent = a.sample ? 'Nothing yet.' : 'Nothing here yet. An agent of your own shows what it receives in its own window.';
    this.switch.hidden = !a.sample;
    this.switch.ariaChecked = String(Boolean(a.online));
  }

  async toggle() {
    const online = this.switch.ariaChecked !== 'true';
    this.switch.ariaChecked = String(online);
    const { error } = await call('/phone/agents', { agent: this.name, online });
    if (!error) return;
    this.switch.ariaChecked = String(!online);
    announce(`${this.name} was not switched: ${error}`);
  }

  put(r) {
    const scroll = $('.scroll', this.card);
    const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
    const fresh = !this.items.has(r.id);
    const li = this.items.get(r.id) ?? make('li', 'event');
    li.classList.toggle('salon', Boolean(r.meta.from)); // of an agent, a script or a webhook: no person's
    li.replaceChildren(this.head(r), channel(r));
    $('.none', this.card).hidden = true;
    if (!fresh) return false;
    this.items.set(r.id, li);
    $('ol', this.card).append(li);
    while (this.items.size > most.events) {
      const [oldest, element] = this.items.entries().next().value;
      element.remove();
      this.items.delete(oldest);
    }
    if (atEnd) scroll.scrollTop = scroll.scrollHeight;
    return true;
  }

  head(r) {
    const status = r.meta.route_status;
    const chip = make('span', 'chip', status || (r.meta.from ? `from ${r.meta.from}` : 'event'));
    chip.dataset.status = status || '';
    const kind = kinds.includes(r.meta.kind) ? make('span', 'chip', r.meta.kind) : '';
    const meant = r.meta.routed_agent && r.meta.routed_agent !== this.name ? `meant for ${r.meta.routed_agent}` : '';
    return make('p', 'head', chip, kind, meant ? make('span', '', meant) : '',
      r.repeats ? make('span', 'again', `seen again ×${r.repeats}`) : '',
      r.meta.ts ? make('time', 'soft', clock(Date.parse(r.meta.ts), '2-digit')) : '');
  }
}

const kinds = ['info', 'status', 'ack', 'request', 'question', 'reply']; // what agents call what they say to each other

// channel writes an event as the agent's model reads it.
function channel(r) {
  const rank = (key) => (/^(route.*|from|kind|reply_to)$/.test(key) ? 0 : key.startsWith('in_reply_to_') ? 1 : 2);
  const keys = Object.keys(r.meta).sort((a, b) => rank(a) - rank(b));
  const attributes = keys.map((key) => make('span', rank(key) < 2 ? 'told' : '', ` ${key}="${r.meta[key].replaceAll('"', '&quot;')}"`));
  return make('code', 'channel', '<channel', ...attributes, '>', make('b', '', r.content), '</channel>');
}

const agents = new Map(); // name → Agent

function agent(name) {
  if (!agents.has(name)) agents.set(name, new Agent(name));
  return agents.get(name);
}

function showAgents(list) {
  list.forEach((a) => agent(a.name).show(a));
  const here = new Set(list.map((a) => a.name));
  for (const [name, a] of agents) if (!here.has(name)) a.show({ state: 'gone' });
}

// ---- the hub: up or down, and its stream

const hub = {
  state: 'wait', // wait, up, down, back
  lost: 0,
  refusal: '', // why the code was not taken

  set(state) {
    this.state = state;
    this.show();
  },

  show() {
    const unsent = outbox.posts.length;
    const text = {
      wait: 'Connecting…',
      up: 'The hub is up',
      down: `The hub is down — restarting…${unsent ? ` ${unsent} unsent` : ''}`,
      back: this.lost ? `Back: ${this.lost} messages are missing` : 'Back: nothing was lost',
    }[this.state];
    const status = $('#status');
    status.dataset.state = this.state;
    if (status.textContent !== text) status.textContent = text;
    $('#kill').disabled = this.state === 'wait' || this.state === 'down';
  },

  connect() {
    const source = new EventSource('/phone/events');
    source.addEventListener('state', (e) => this.load(JSON.parse(e.data)));
    source.addEventListener('change', (e) => this.change(JSON.parse(e.data)));
    source.addEventListener('error', () => {
      source.close();
      if (this.state !== 'wait') this.set('down');
      setTimeout(() => this.open(), retryAfter);
    });
  },

  // open connects once the hub answers, and is content with us.
  async open() {
    try {
      const r = await fetch('/phone/session');
      if ((await r.json()).in) this.connect();
      else this.lock();
    } catch {
      setTimeout(() => this.open(), retryAfter);
    }
  },

  lock() {
    $('#main').hidden = $('.tools').hidden = true;
    $('#locked').hidden = false;
    $('#status').textContent = '';
    if (this.refusal) $('#locked-why').textContent = `The demo says: ${this.refusal}.`;
  },

  load(all) {
    this.lost = 0;
    for (const [name, chat] of Object.entries(chats)) this.lost += chat.load(all.bubbles.filter((b) => b.chat === name));
    showAgents(all.agents);
    all.received.forEach((r) => agent(r.agent).put(r));
    showJoin(all.join ?? []);
    const back = this.state === 'down';
    this.set(back ? 'back' : 'up');
    outbox.flush();
    if (back) setTimeout(() => { if (this.state === 'back') this.set('up'); }, 6000);
  },

  change({ bubble, asked, received, agents: list }) {
    if (list) showAgents(list);
    if (asked) chats[asked.chat].put(asked);
    if (bubble && chats[bubble.chat].put(bubble) && !bubble.mine) announce(`${bubble.agent || 'Aldis'}: ${bubble.text}`);
    if (received && agent(received.agent).put(received)) announce(`${received.agent} received a message, ${received.meta.route_status ?? (received.meta.from ? `from ${received.meta.from}` : '')}`);
  },
};

function showJoin(lines) {
  $('#join-open').hidden = lines.length === 0;
  $('#join-lines').replaceChildren(...lines.map(({ client, line }) => {
    const copy = make('button', 'button', 'Copy');
    copy.type = 'button';
    copy.ariaLabel = `Copy the line for ${client}`;
    copy.addEventListener('click', async () => {
      await navigator.clipboard.writeText(line);
      copy.textContent = 'Copied';
      announce(`The line for ${client} is copied`);
      setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
    });
    return make('li', '', make('h3', '', client), make('code', 'copied', line), copy);
  }));
}

// ---- start

const chats = { operator: new Chat('operator'), stranger: new Chat('stranger') };

function choose(tab) {
  for (const t of document.querySelectorAll('[role=tab]')) {
    const chosen = t === tab;
    t.ariaSelected = String(chosen);
    t.tabIndex = chosen ? 0 : -1;
    $(`#${t.getAttribute('aria-controls')}`).hidden = !chosen;
  }
  Object.values(chats).forEach((c) => c.toEnd());
}

async function start() {
  actions.start();
  const tabs = $('[role=tablist]');
  tabs.addEventListener('click', (e) => { if (e.target.role === 'tab') choose(e.target); });
  tabs.addEventListener('keydown', (e) => { const to = rove(e, [...tabs.children]); if (to) choose(to); });
  $('#kill').addEventListener('click', () => call('/phone/restart', {}));

  const code = location.hash.slice(1);
  if (code) {
    history.replaceState(null, '', location.pathname); // it is used up, and no bookmark
    hub.refusal = (await call('/phone/session', { code })).error;
  }
  hub.open();
}

start();
