"""A session middleware that is not Starlette's."""


class OurSessions:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        scope["session"] = {}
        await self.app(scope, receive, send)
