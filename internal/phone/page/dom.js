// What all of the page makes its elements with.
//
// One rule: text that others wrote is only ever set as textContent.

export const $ = (selector, root = document) => root.querySelector(selector);

// make returns an element: make('p', 'soft', 'text', child…).
export function make(tag, className, ...content) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...content.filter((c) => c));
  return e;
}

export const unseen = (text) => make('span', 'unseen', text);
