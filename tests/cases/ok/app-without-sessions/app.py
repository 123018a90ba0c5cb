from fastapi import FastAPI

app = FastAPI()


@app.post("/search")
async def search(body: dict) -> dict:
    """Search the notes."""
    return body
