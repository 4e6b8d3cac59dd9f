"""Adapters for other libraries. Each sends schemas that the provider accepts, and brings values back before they reach your code.

================== ======================================== =================================================
module             what it adapts                           tested with
================== ======================================== =================================================
``pydantic_ai``    a model of pydantic-ai                   pydantic-ai 2.38
``langchain``      a middleware of LangChain's agents       langchain 1.4
``litellm``        a callback of LiteLLM                    litellm 1.83
``instructor``     hooks of Instructor                      instructor 1.17
``openai_agents``  a model of the OpenAI Agents SDK         openai-agents 0.24
``fastmcp``        a transform of FastMCP servers           fastmcp 4.1
================== ======================================== =================================================

A target is the id of a dialect (``openai-strict``) or the name of a model (``anthropic/claude-sonnet-4-5``).
"""
