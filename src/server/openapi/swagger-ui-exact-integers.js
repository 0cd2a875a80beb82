/* global LosslessJSON */

/**
 * Creates a plug-in for Swagger UI, which otherwise reads and prints JSON by JavaScript numbers and so rounds integers
 * beyond 2^53 (docs/decisions/0023). If the plug-in cannot read a text, Swagger UI shows its own.
 *
 * @param {Record<number, string>} standIns digits by the number that stands for them in the document
 */
// oxlint-disable-next-line no-unused-vars -- swagger-ui-init.js calls it.
function exactIntegers(standIns) {
  const numbers = exactNumbers(standIns);
  return ({ fn: { getJsonSampleSchema }, React }) => ({
    fn: {
      // The examples of bodies; "Try it out" begins with that of the request.
      getJsonSampleSchema(schema, config, contentType, example) {
        const sample = getJsonSampleSchema(schema, config, contentType, example);
        const isJson = typeof sample === 'string' && /json/.test(contentType);
        return isJson ? numbers.printedExample(sample) : numbers.exact(sample);
      },
    },
    statePlugins: {
      spec: {
        wrapSelectors: {
          // Examples, default values and enumerations of parameters.
          parameterWithMetaByIdentity:
            (original) =>
            (_state, ...args) =>
              numbers.exactWithin(original(...args)),
        },
      },
    },
    wrapComponents: { ...exactResponse(numbers, React), ...exactSchema(numbers, React) },
  });
}

/** Returns functions that replace the numbers of the document by their digits. */
function exactNumbers(standIns) {
  const { parse, stringify, LosslessNumber } = LosslessJSON;

  /** Prints JSON as Swagger UI does. @returns undefined if the text is not JSON */
  function printed(text, digitsOf = (digits) => digits) {
    try {
      const value = parse(text, undefined, (digits) => new LosslessNumber(digitsOf(digits)));
      return stringify(value, undefined, 2);
    } catch {
      return undefined;
    }
  }

  const exact = (value) => (typeof value === 'number' ? (standIns[value] ?? value) : value);
  return {
    printed,
    /** Prints JSON that Swagger UI made from the document. */
    printedExample: (text) => printed(text, (digits) => standIns[digits] ?? digits) ?? text,
    exact,
    /** Replaces the numbers in a collection of Immutable, too. */
    exactWithin: function exactWithin(value) {
      return typeof value?.map === 'function' ? value.map(exactWithin) : exact(value);
    },
  };
}

/** Wraps what shows, copies and downloads the body of a response. */
function exactResponse({ printed }, { createContext, createElement, useContext, useMemo }) {
  /** The exact text of the body, or undefined. */
  const BodyText = createContext();
  return {
    responseBody: (Original) =>
      function ExactResponseBody(props) {
        const { content, contentType } = props;
        const text = useMemo(
          () => (typeof content === 'string' && /json/i.test(contentType) ? printed(content) : undefined),
          [content, contentType],
        );
        return createElement(BodyText.Provider, { value: text }, createElement(Original, props));
      },
    HighlightCode: (Original) =>
      function ExactHighlightCode(props) {
        const text = useContext(BodyText);
        return createElement(Original, text === undefined ? props : { ...props, children: text });
      },
  };
}

/** Wraps what shows the keywords of a schema, such as `maximum` and `enum`. */
function exactSchema({ exact, exactWithin, printedExample }, { createElement }) {
  return {
    Property: (Original) =>
      function ExactProperty({ propVal, ...props }) {
        const isJson = typeof propVal === 'object' && propVal !== null;
        const value = isJson ? printedExample(JSON.stringify(propVal)) : exact(propVal);
        return createElement(Original, { ...props, propVal: value });
      },
    EnumModel: (Original) =>
      function ExactEnumModel({ value, ...props }) {
        return createElement(Original, { ...props, value: exactWithin(value) });
      },
  };
}
