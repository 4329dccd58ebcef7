// Elements without markup: whatever a user wrote gets into the page as text only.

/**
 * An element with attributes and children; strings become text, `onclick` and the like listeners.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|null)} children
 * @returns {any}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/**
 * A choice from a list, with its name for those who don't see it.
 * @param {string} name
 * @param {{value: string, text: string, disabled?: boolean}[]} options
 * @param {string} chosen
 * @param {(value: string) => void} onChoice
 */
export function choice(name, options, chosen, onChoice) {
  const list = element(
    "select",
    { "aria-label": name, title: name, onchange: () => onChoice(list.value) },
    ...options.map((one) =>
      element("option", { value: one.value, selected: one.value === chosen, disabled: one.disabled }, one.text),
    ),
  );
  return list;
}

/**
 * A colour (or any other custom property) of the page's present theme.
 * @param {string} name
 */
export const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
