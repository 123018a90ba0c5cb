from fastapi import FastAPI
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="signs the sessions of this example")


@app.post("/search")
async def search(body: dict) -> dict:
    """Search the notes."""
    return body
