// What a person is asked about, in plain sight.

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The text with what would not be seen, or would turn it around, written out; but for the characters in `kept`. */
export function plainly(text, kept = "") {
  return text.replace(HIDDEN, (char) => (kept.includes(char) ? char : `\\u{${char.codePointAt(0).toString(16)}}`));
}

/** The arguments of a call, one below the other. A line of a value stands further in, so that none looks like another name. */
export function argumentsText({ arguments: values, argumentsText: soFar }) {
  const lines = (text) => plainly(text, "\n\t");
  if (values === null) return lines(soFar);
  const texts = Object.entries(values).map(([name, value]) => {
    const text = lines(typeof value === "string" ? value : JSON.stringify(value));
    return `${plainly(name)}: ${text.replaceAll("\n", "\n    ")}`;
  });
  return texts.join("\n");
}
