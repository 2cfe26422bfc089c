"""What a tool's parser makes of a text, as tests compare it."""

from railgauge import tools


def read(tool, text):
    return tools.tool(tool).parse(text)


def values(parsed):
    return {(one.metric, one.placement): one.value for one in parsed.samples}


def errors(parsed):
    return {problem.kind for problem in parsed.errors}


def warnings(parsed):
    return {problem.kind for problem in parsed.problems} - errors(parsed)
