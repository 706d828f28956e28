"""Calls a model by OpenAI's SDK and sends the spans of one instrumentation; set by the environment."""

import sys

import openai

product = sys.argv[1]


def call():
    client = openai.OpenAI(api_key="none", max_retries=0)
    messages = [{"role": "user", "content": "weather in Paris?"}]
    return client.chat.completions.create(model="gpt-4o", messages=messages)


if product == "langfuse":
    from langfuse import get_client, observe
    from langfuse.openai import openai

    @observe(name="my-agent", as_type="agent")
    def agent():
        return call().choices[0].message.content

    agent()
    get_client().flush()
    get_client().shutdown()
else:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    if product == "openai":
        from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
    else:
        from openinference.instrumentation.openai import OpenAIInstrumentor
    OpenAIInstrumentor().instrument()
    call()
    provider.shutdown()
